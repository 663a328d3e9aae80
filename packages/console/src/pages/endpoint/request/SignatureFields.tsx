/** The signatures that an endpoint's requests carry: one to three recipes. */
import type { HmacSignature } from "@posthorn/domain/RequestProfile"
import { Button, IconButton } from "../../../ui/Button.tsx"
import { Select, TextField } from "../../../ui/Field.tsx"
import { newRecipe, presets, type RecipeDraft } from "./draft.ts"
import type { At } from "./issues.ts"

const MOST = 3

const schemes = [
  { id: "standard_v1", label: "Standard Webhooks", about: "HMAC-SHA256 in the header webhook-signature." },
  {
    id: "standard_v1a",
    label: "Standard Webhooks, by public key",
    about: "Ed25519 in the same header: the receiver holds no secret."
  },
  {
    id: "hmac",
    label: "HMAC of your own",
    about: "In a header and a format that the receiver knows already."
  }
]

const HmacFields = ({
  at,
  change,
  recipe
}: {
  recipe: HmacSignature
  at: (member: keyof HmacSignature) => string | undefined
  change: (more: Partial<HmacSignature>) => void
}) => (
  <>
    <div className="flex flex-wrap items-center gap-2 group-disabled:hidden">
      {presets.map((preset) => (
        <Button key={preset.label} small onPress={() => change(preset.recipe)}>
          {preset.label}
        </Button>
      ))}
    </div>
    <TextField
      label="Header"
      value={recipe.header}
      onChange={(header) => change({ header })}
      mono
      error={at("header")}
    />
    <div className="grid gap-3 sm:grid-cols-2">
      <Select
        label="Hash"
        value={recipe.algorithm}
        onChange={(algorithm) => change({ algorithm } as Partial<HmacSignature>)}
        choices={[
          { id: "sha256", label: "SHA-256" },
          { id: "sha512", label: "SHA-512" },
          { id: "sha1", label: "SHA-1", about: "Only for a receiver that knows no other." }
        ]}
      />
      <Select
        label="Written as"
        value={recipe.encoding}
        onChange={(encoding) => change({ encoding } as Partial<HmacSignature>)}
        choices={[
          { id: "hex", label: "Hex" },
          { id: "base64", label: "Base64" }
        ]}
      />
    </div>
    <TextField
      label="What is signed"
      value={recipe.content}
      onChange={(content) => change({ content })}
      mono
      error={at("content")}
      about="{body} once; {timestamp} and {id} where the receiver wants them."
    />
    <TextField
      label="The header's value"
      value={recipe.format}
      onChange={(format) => change({ format })}
      mono
      error={at("format")}
      about="{signature} once; {timestamp} and {id} where the receiver wants them."
    />
  </>
)

export const SignatureFields = ({
  at,
  change,
  signatures
}: {
  signatures: ReadonlyArray<RecipeDraft>
  at: At
  change: (signatures: ReadonlyArray<RecipeDraft>) => void
}) => {
  const replace = (next: RecipeDraft) =>
    change(signatures.map((each) => (each.key === next.key ? next : each)))
  return (
    <fieldset className="grid gap-3">
      <legend className="mb-2 text-sm font-semibold">Signatures</legend>
      <p className="text-sm text-soft">
        Each is sent, so that a receiver can move from one to another. The HMACs are made with the endpoint's
        signing secret, a public key's with a key pair of its own.
      </p>
      <ol className="grid gap-3">
        {signatures.map((recipe, n) => (
          <li key={recipe.key}>
            <fieldset className="grid gap-3 rounded-md border p-3">
              <legend className="sr-only">Signature {n + 1}</legend>
              <div className="flex items-end gap-2">
                <Select
                  label="Recipe"
                  value={recipe.scheme}
                  onChange={(scheme) =>
                    replace({
                      ...(scheme === "hmac"
                        ? presets[0]!.recipe
                        : { scheme: scheme as "standard_v1" | "standard_v1a" }),
                      key: recipe.key
                    })
                  }
                  choices={schemes}
                />
                {signatures.length > 1 ? (
                  <IconButton
                    icon="cross"
                    className="group-disabled:hidden"
                    label={`Remove signature ${n + 1}`}
                    onPress={() => change(signatures.filter(({ key }) => key !== recipe.key))}
                  />
                ) : null}
              </div>
              {recipe.scheme === "hmac" ? (
                <HmacFields
                  recipe={recipe}
                  at={(member) => at(`signatures/${n}/${member}`)}
                  change={(more) => replace({ ...recipe, ...more })}
                />
              ) : null}
            </fieldset>
          </li>
        ))}
      </ol>
      {signatures.length < MOST ? (
        <div className="group-disabled:hidden">
          <Button small icon="plus" onPress={() => change([...signatures, newRecipe(presets[0]!.recipe)])}>
            Add a signature
          </Button>
        </div>
      ) : null}
    </fieldset>
  )
}
