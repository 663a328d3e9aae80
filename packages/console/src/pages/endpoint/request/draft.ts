/**
 * An endpoint's `request` while it is edited: (what is shown) → draft → what is sent, or what a preview shows.
 *
 * A secret that is stored is kept by sending its header or authentication without it, so the draft holds a secret only from the
 * moment it is typed until it is saved. Pure. Source: spec §2.9.
 */
import type {
  BodyShape,
  HmacSignature,
  RequestProfile,
  SentRequestProfile,
  SignatureRecipe
} from "@posthorn/domain/RequestProfile"
import { authentications } from "./authentications.ts"

export interface SecretDraft {
  readonly value: string
  /** The fingerprint of what is stored. */
  readonly stored: string | null
  /** Not replaced. */
  readonly isKept: boolean
}

export interface HeaderDraft {
  readonly key: number
  readonly name: string
  readonly isSecret: boolean
  readonly secret: SecretDraft
  /** Under which name the secret is stored. */
  readonly storedAs: string
}

export type AuthenticationKind = keyof typeof authentications

export interface AuthenticationDraft {
  readonly kind: AuthenticationKind | "none"
  readonly fields: Readonly<Record<string, string>>
  readonly secret: SecretDraft
  /** Of which kind the stored secret is. */
  readonly storedAs: string
}

export type RecipeDraft = SignatureRecipe & { readonly key: number }

export interface Draft {
  readonly headers: ReadonlyArray<HeaderDraft>
  readonly authentication: AuthenticationDraft
  readonly body: BodyShape
  readonly signatures: ReadonlyArray<RecipeDraft>
}

const fresh: SecretDraft = { value: "", stored: null, isKept: false }

const kept = (stored: string): SecretDraft => ({ value: "", stored, isKept: true })

let keys = 0

export const newHeader = (): HeaderDraft => ({
  key: ++keys,
  name: "",
  isSecret: false,
  secret: fresh,
  storedAs: ""
})

export const newRecipe = (recipe: SignatureRecipe): RecipeDraft => ({ ...recipe, key: ++keys })

type ShownHeader = NonNullable<RequestProfile["headers"]>[number]

const headerOf = (header: ShownHeader): HeaderDraft => ({
  key: ++keys,
  name: header.name,
  isSecret: !("value" in header),
  secret: "value" in header ? { ...fresh, value: header.value } : kept(header.fingerprint),
  storedAs: header.name
})

const authenticationOf = (shown: RequestProfile["authentication"]): AuthenticationDraft => {
  if (shown === undefined) return { kind: "none", fields: {}, secret: fresh, storedAs: "" }
  const { fingerprint, kind, secret: _, ...fields } = shown
  return { kind, fields, secret: kept(fingerprint), storedAs: kind }
}

export const draftOf = (request: RequestProfile | null): Draft => {
  const { authentication, body = "envelope", headers = [], signatures } = request ?? {}
  return {
    headers: headers.map(headerOf),
    authentication: authenticationOf(authentication),
    body,
    signatures: (signatures ?? [{ scheme: "standard_v1" as const }]).map(newRecipe)
  }
}

/** Whether the stored secret stays: it stands for this name alone. */
export const keepsHeader = ({ isSecret, name, secret, storedAs }: HeaderDraft) =>
  isSecret && secret.isKept && name.trim().toLowerCase() === storedAs.toLowerCase()

export const keepsAuthentication = ({ kind, secret, storedAs }: AuthenticationDraft) =>
  secret.isKept && kind === storedAs

/** How a secret that is not stored yet is previewed. */
const NOT_STORED = "…"

type Written = Readonly<Record<string, unknown>>

const headersOf = (
  headers: Draft["headers"],
  secretOf: (secret: SecretDraft, isKept: boolean) => Written
): ReadonlyArray<Written> =>
  headers.map((header) => ({
    name: header.name.trim(),
    ...(header.isSecret ? secretOf(header.secret, keepsHeader(header)) : { value: header.secret.value })
  }))

/** Optional fields are left out when they are empty. */
const fieldsOf = ({ fields, kind }: AuthenticationDraft): Written =>
  kind === "none"
    ? {}
    : Object.fromEntries(
        authentications[kind].fields.flatMap(({ isOptional = false, name }) => {
          const value = (fields[name] ?? "").trim()
          return isOptional && value === "" ? [] : [[name, value]]
        })
      )

const signaturesOf = (signatures: Draft["signatures"]): ReadonlyArray<Written> =>
  signatures.map(({ key: _, ...recipe }) => recipe)

const isStandardAlone = (signatures: Draft["signatures"]) =>
  signatures.length === 1 && signatures[0]!.scheme === "standard_v1"

/** Without what is as for any endpoint. */
const written = (
  { authentication, body, headers, signatures }: Draft,
  secretOf: (secret: SecretDraft, isKept: boolean, name: string) => Written
): Written => ({
  ...(headers.length > 0 && {
    headers: headersOf(headers, (secret, isKept) => secretOf(secret, isKept, "value"))
  }),
  ...(authentication.kind !== "none" && {
    authentication: {
      kind: authentication.kind,
      ...fieldsOf(authentication),
      ...secretOf(
        authentication.secret,
        keepsAuthentication(authentication),
        authentications[authentication.kind].secret.name
      )
    }
  }),
  ...(body !== "envelope" && { body }),
  ...(!isStandardAlone(signatures) && { signatures: signaturesOf(signatures) })
})

/** What is sent to Posthorn; null when requests look as they always do. */
export const sentOf = (draft: Draft): SentRequestProfile | null => {
  const sent = written(draft, ({ stored, value }, isKept, name) =>
    isKept ? { secret: true, fingerprint: stored } : { secret: true, [name]: value }
  )
  return Object.keys(sent).length === 0 ? null : (sent as SentRequestProfile)
}

/** What Posthorn would store. */
export const shownOf = (draft: Draft): RequestProfile =>
  written(
    { ...draft, headers: draft.headers.filter(({ name }) => name.trim() !== "") },
    ({ stored }, isKept) => ({ secret: true, fingerprint: isKept ? stored : NOT_STORED })
  ) as RequestProfile

/** GitHub's and Stripe's, whose receivers are everywhere. */
export const presets: ReadonlyArray<{ readonly label: string; readonly recipe: HmacSignature }> = [
  {
    label: "GitHub-style",
    recipe: {
      scheme: "hmac",
      header: "x-hub-signature-256",
      algorithm: "sha256",
      encoding: "hex",
      content: "{body}",
      format: "sha256={signature}"
    }
  },
  {
    label: "Stripe-style",
    recipe: {
      scheme: "hmac",
      header: "stripe-signature",
      algorithm: "sha256",
      encoding: "hex",
      content: "{timestamp}.{body}",
      format: "t={timestamp},v1={signature}"
    }
  }
]
