/** The headers that an endpoint's requests have besides Posthorn's own. */
import { Button, IconButton } from "../../../ui/Button.tsx"
import { Checkbox, TextField } from "../../../ui/Field.tsx"
import { type HeaderDraft, keepsHeader, newHeader } from "./draft.ts"
import type { At } from "./issues.ts"
import { SecretField } from "./SecretField.tsx"

const MOST = 20

const HeaderRow = ({
  at,
  change,
  header,
  n,
  remove
}: {
  header: HeaderDraft
  n: number
  at: At
  change: (header: HeaderDraft) => void
  remove: () => void
}) => {
  const { isSecret, name, secret } = header
  const called = name.trim() === "" ? `header ${n + 1}` : name.trim()
  return (
    <li>
      <fieldset className="grid gap-3 rounded-md border p-3">
        <legend className="sr-only">Header {n + 1}</legend>
        <div className="grid items-start gap-3 sm:grid-cols-2">
          <TextField
            label="Name"
            value={name}
            onChange={(next) => change({ ...header, name: next })}
            mono
            placeholder="x-api-key"
            error={at(`headers/${n}/name`)}
          />
          {isSecret ? (
            <SecretField
              label="Value"
              name={called}
              secret={secret}
              isKept={keepsHeader(header)}
              change={(next) => change({ ...header, secret: next })}
              error={at(`headers/${n}/value`)}
            />
          ) : (
            <TextField
              label="Value"
              value={secret.value}
              onChange={(value) => change({ ...header, secret: { ...secret, value } })}
              mono
              error={at(`headers/${n}/value`)}
            />
          )}
        </div>
        <div className="flex items-center justify-between gap-3">
          <Checkbox
            label="Secret"
            isSelected={isSecret}
            onChange={(on) => change({ ...header, isSecret: on })}
          />
          <IconButton
            icon="cross"
            label={`Remove ${called}`}
            className="group-disabled:hidden"
            onPress={remove}
          />
        </div>
      </fieldset>
    </li>
  )
}

export const HeaderFields = ({
  at,
  change,
  headers
}: {
  headers: ReadonlyArray<HeaderDraft>
  at: At
  change: (headers: ReadonlyArray<HeaderDraft>) => void
}) => (
  <fieldset className="grid gap-3">
    <legend className="mb-2 text-sm font-semibold">Headers</legend>
    <p className="text-sm text-soft">
      Sent with every request, besides Posthorn's own. A secret one is stored sealed: only its fingerprint is
      shown.
    </p>
    {headers.length === 0 ? null : (
      <ol className="grid gap-3">
        {headers.map((header, n) => (
          <HeaderRow
            key={header.key}
            header={header}
            n={n}
            at={at}
            change={(next) => change(headers.map((each) => (each.key === next.key ? next : each)))}
            remove={() => change(headers.filter(({ key }) => key !== header.key))}
          />
        ))}
      </ol>
    )}
    {headers.length < MOST ? (
      <div className="group-disabled:hidden">
        <Button small icon="plus" onPress={() => change([...headers, newHeader()])}>
          Add a header
        </Button>
      </div>
    ) : null}
  </fieldset>
)
