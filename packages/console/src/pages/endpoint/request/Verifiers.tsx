/** Code that verifies an endpoint's requests, ready to copy into the receiver. */
import type { SignatureRecipe } from "@posthorn/domain/RequestProfile"
import { useState } from "react"
import { Code } from "../../../ui/Code.tsx"
import { Select } from "../../../ui/Field.tsx"
import { Card } from "../../../ui/Layout.tsx"
import { type Language, languages, type SecretKind, verifierOf } from "./verifiers.ts"

/** What a receiver has to know that its verifier cannot check. */
const caveatOf = (recipe: SignatureRecipe) => {
  if (recipe.scheme === "standard_v1a")
    return "The public key stands under Signing secret. A request that comes twice has the same webhook-id."
  if (recipe.scheme !== "hmac") return "A request that comes twice has the same webhook-id."
  if (!recipe.content.includes("{timestamp}"))
    return "The time is not signed: a request that somebody recorded verifies for ever."
  return recipe.content.includes("{id}")
    ? "A request that comes twice has the same webhook-id."
    : "The id is not signed: within five minutes a recorded request verifies again."
}

const nameOf = (recipe: SignatureRecipe) =>
  recipe.scheme === "hmac"
    ? `HMAC in ${recipe.header}`
    : recipe.scheme === "standard_v1a"
      ? "Standard Webhooks, by public key"
      : "Standard Webhooks"

export const Verifiers = ({ signatures }: { signatures: ReadonlyArray<SignatureRecipe> }) => {
  const [language, setLanguage] = useState<Language>("TypeScript")
  const [secret, setSecret] = useState<SecretKind>("posthorn")
  return (
    <Card
      title="Verify it"
      about={`Code for the receiver, for ${signatures.length === 1 ? "the signature" : "each of the signatures"} that is saved.`}
    >
      <div className="grid gap-5">
        <div className="grid max-w-2xl gap-3 sm:grid-cols-2">
          <Select
            label="Language"
            value={language}
            onChange={(next) => setLanguage(next as Language)}
            choices={languages.map((id) => ({ id, label: id }))}
          />
          {signatures.every(({ scheme }) => scheme === "standard_v1a") ? null : (
            <Select
              label="Signing secret"
              value={secret}
              onChange={(next) => setSecret(next as SecretKind)}
              choices={[
                { id: "posthorn", label: "Posthorn's own", about: "HMAC takes all of it." },
                { id: "whsec", label: "Taken over, whsec_", about: "The key is the base64 behind it." },
                { id: "text", label: "Taken over, a text", about: "The key is the whole text." }
              ]}
            />
          )}
        </div>
        {signatures.map((recipe, n) => (
          <div key={n} className="grid gap-1.5">
            <h3 className="text-sm font-medium">{nameOf(recipe)}</h3>
            <Code
              text={verifierOf(recipe, secret, language)}
              label={`${language}: ${nameOf(recipe)}`}
              whole
            />
            <p className="text-xs text-faint">{caveatOf(recipe)}</p>
          </div>
        ))}
      </div>
    </Card>
  )
}
