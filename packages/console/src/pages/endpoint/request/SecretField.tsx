/** A secret: a stored one shows its fingerprint alone, and can be replaced. */
import { useId } from "react"
import { Button } from "../../../ui/Button.tsx"
import { TextField } from "../../../ui/Field.tsx"
import type { SecretDraft } from "./draft.ts"

export const SecretField = ({
  change,
  error,
  isKept,
  label,
  lines,
  name,
  secret
}: {
  label: string
  /** Tells its buttons from those of other secrets. */
  name: string
  secret: SecretDraft
  isKept: boolean
  change: (secret: SecretDraft) => void
  error: string | undefined
  lines?: number | undefined
}) => {
  const id = useId()
  if (isKept)
    return (
      <div role="group" aria-labelledby={id} className="grid min-w-0 content-start gap-1.5">
        <span id={id} className="text-sm font-medium">
          {label}
        </span>
        <div className="flex min-h-9 flex-wrap items-center gap-x-3 gap-y-1.5 text-sm text-soft">
          <span className="min-w-0">
            Stored, fingerprint <code className="text-xs break-all">{secret.stored}</code>
          </span>
          <Button
            small
            className="group-disabled:hidden"
            aria-label={`Replace ${name}`}
            onPress={() => change({ ...secret, isKept: false, value: "" })}
          >
            Replace
          </Button>
        </div>
        {error === undefined ? null : <p className="text-xs text-bad">{error}</p>}
      </div>
    )
  return (
    <div className="grid min-w-0 content-start justify-items-start gap-1.5 [&>:first-child]:w-full">
      <TextField
        label={label}
        value={secret.value}
        onChange={(value) => change({ ...secret, value })}
        mono
        error={error}
        about="Sealed when it is saved, and never shown again."
        {...(lines === undefined ? { type: "password" as const } : { lines })}
      />
      {secret.stored === null ? null : (
        <Button
          look="quiet"
          small
          aria-label={`Keep the stored ${name}`}
          onPress={() => change({ ...secret, isKept: true, value: "" })}
        >
          Keep the stored one
        </Button>
      )}
    </div>
  )
}
