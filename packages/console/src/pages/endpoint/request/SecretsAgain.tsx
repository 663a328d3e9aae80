/**
 * The secrets of an endpoint's requests, asked for again when its URL gets another origin or path: Posthorn sends a stored secret nowhere
 * but where it was meant for. Source: spec §2.9.
 */
import type { RequestProfile } from "@posthorn/domain/RequestProfile"
import { authentications } from "./authentications.ts"
import type { Draft, SecretDraft } from "./draft.ts"
import type { At } from "./issues.ts"
import { SecretField } from "./SecretField.tsx"

const placeOf = (url: string) => {
  if (!URL.canParse(url)) return null
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname}`
}

/** Whether requests to `next` may not take the stored secrets along. */
export const asksAgain = (request: RequestProfile | null, before: string, next: string) =>
  request !== null &&
  placeOf(next) !== placeOf(before) &&
  (request.authentication !== undefined || (request.headers ?? []).some((header) => !("value" in header)))

/** What is left empty stays as it is stored, which the server then refuses by name. */
const typed = (secret: SecretDraft, { value }: SecretDraft): SecretDraft => ({
  ...secret,
  value,
  isKept: value === ""
})

const unstored = (secret: SecretDraft): SecretDraft => ({ ...secret, stored: null })

export const SecretsAgain = ({
  at,
  change,
  draft
}: {
  draft: Draft
  at: At
  change: (draft: Draft) => void
}) => {
  const { authentication, headers } = draft
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-2 text-sm font-medium">Secrets for the new address</legend>
      <p className="text-sm text-soft">
        They were given for the old one, so they do not move by themselves. Type each again, or take it out of
        the request first.
      </p>
      {headers.map((header, n) =>
        header.isSecret ? (
          <SecretField
            key={header.key}
            label={`Value of ${header.name}`}
            name={header.name}
            secret={unstored(header.secret)}
            isKept={false}
            change={(secret) =>
              change({
                ...draft,
                headers: headers.map((each) =>
                  each.key === header.key ? { ...header, secret: typed(header.secret, secret) } : each
                )
              })
            }
            error={at(`headers/${n}/value`)}
          />
        ) : null
      )}
      {authentication.kind === "none" ? null : (
        <SecretField
          label={authentications[authentication.kind].secret.label}
          name={authentications[authentication.kind].secret.label.toLowerCase()}
          secret={unstored(authentication.secret)}
          isKept={false}
          change={(secret) =>
            change({
              ...draft,
              authentication: { ...authentication, secret: typed(authentication.secret, secret) }
            })
          }
          error={at(`authentication/${authentications[authentication.kind].secret.name}`)}
          lines={authentications[authentication.kind].secret.lines}
        />
      )}
    </fieldset>
  )
}
