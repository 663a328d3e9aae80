/** The secret that an endpoint takes over from another sender. It is validated while it is typed, by the server's own rule. */
import { signingKeyOf } from "@posthorn/domain/SigningSecret"
import { Checkbox, TextField } from "../../ui/Field.tsx"

interface SecretDraft {
  readonly text: string
  readonly isWhole: boolean
}

export const NO_SECRET: SecretDraft = { text: "", isWhole: false }

/** What is sent of it; undefined if the text is no secret. */
export const secretOf = ({ isWhole, text }: SecretDraft) => {
  if (text === "") return {}
  const encoding = isWhole ? ({ signingSecretEncoding: "text" } as const) : {}
  return signingKeyOf(text, encoding.signingSecretEncoding) === undefined
    ? undefined
    : { signingSecret: text, ...encoding }
}

export const SecretFields = ({
  change,
  draft
}: {
  draft: SecretDraft
  change: (draft: SecretDraft) => void
}) => (
  <div className="grid gap-3">
    <TextField
      label="Signing secret of another sender"
      type="password"
      mono
      value={draft.text}
      onChange={(text) => change({ ...draft, text: text.trim() })}
      about="If its receiver verifies with a secret already, it need not change. Left empty, a new one is made."
      error={
        secretOf(draft) === undefined
          ? "Enter whsec_ and the base64 of 24 to 64 bytes, or another text of 16 to 256 characters."
          : undefined
      }
    />
    {draft.text.startsWith("whsec_") ? (
      <Checkbox
        label="The whole text is the key"
        about="As Stripe's are: whsec_ is part of the secret, and what follows is no base64."
        isSelected={draft.isWhole}
        onChange={(isWhole) => change({ ...draft, isWhole })}
      />
    ) : null}
  </div>
)
