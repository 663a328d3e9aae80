/**
 * The secrets of an endpoint's request, kept apart from its profile: the profile is shown to everybody who may see the endpoint.
 *
 * Guarantees: what `shown` returns holds no secret, because it is made without them. Pure. Source: spec §2.9.
 */
import { Redacted, Schema } from "effect"
import type { RequestProfile } from "./RequestProfile.ts"

const Secret = Schema.Redacted(Schema.String)

/** As it is sealed with its endpoint. */
export const RequestSecrets = Schema.Struct({
  /** Base64 of the key of the fingerprints. It stays when secrets are changed or sealed again. */
  fingerprintKey: Secret,
  /** By the header's name in lower case. */
  headers: Schema.Record({ key: Schema.String, value: Secret }),
  /** The password, token, client secret or private key. */
  authentication: Schema.NullOr(Secret)
})
export type RequestSecrets = typeof RequestSecrets.Type

export type AuthenticationProfile = NonNullable<RequestProfile["authentication"]>

/** What the token endpoint is asked with. */
export const clientCredentialsOf = (
  {
    kind: _,
    fingerprint: __,
    secret: ___,
    ...shown
  }: Extract<AuthenticationProfile, { readonly kind: "oauth2" }>,
  clientSecret: Redacted.Redacted
) => ({ ...shown, clientSecret })

/** The secret of a header; names such as `constructor` are members of every object. */
export const storedFor = (secrets: RequestSecrets | null, name: string): Redacted.Redacted | undefined => {
  const lower = name.toLowerCase()
  return secrets !== null && Object.hasOwn(secrets.headers, lower) ? secrets.headers[lower] : undefined
}

/** Headers by name, each name once, whatever its case. */
export type Headers = Readonly<Record<string, string>>

const OWN_NAMES = ["user-agent", "x-posthorn-test"]

/** A header that Posthorn sends too has Posthorn's spelling, so that it is sent once. */
export const spelt = (name: string) => {
  const lower = name.toLowerCase()
  return OWN_NAMES.includes(lower) ? lower : name
}

const sealed = ({ fingerprint }: { readonly fingerprint: string }) => `sealed:${fingerprint}`

/** The profile's own headers as evidence and previews show them: `sealed:<fingerprint>` in the place of a secret. */
export const shownHeaders = ({ authentication, headers = [] }: RequestProfile): Headers =>
  Object.fromEntries([
    ...(authentication === undefined || authentication.kind === "mtls"
      ? []
      : [["authorization", sealed(authentication)]]),
    ...headers.map((header) => [spelt(header.name), "value" in header ? header.value : sealed(header)])
  ])

/** A secret, and what is shown in its place. Secrets are ASCII. */
export type Hidden = readonly [secret: string, by: string]

/**
 * What must not be kept of an answer, a secret before those that it contains. `sent` and `shown` are the same headers, so what
 * differs is secret. So is what follows the scheme in `Authorization`. HTTP trims a header's value.
 */
export const hiddenIn = (
  sent: Headers,
  shown: Headers,
  secrets: RequestSecrets | null
): ReadonlyArray<Hidden> => {
  const hidden = new Map<string, string>()
  for (const [name, value] of Object.entries(sent)) {
    if (value === shown[name]) continue
    hidden.set(value.trim(), shown[name]!).set(value.replace(/^\w+ /, "").trim(), shown[name]!)
  }
  if (secrets !== null && secrets.authentication !== null)
    hidden.set(Redacted.value(secrets.authentication).trim(), shown.authorization ?? "")
  return [...hidden].sort(([a], [b]) => b.length - a.length)
}

/** The same headers as they are sent, but for a token that is fetched. A secret that is missing is a defect. */
export const sentHeaders = (
  { authentication, headers = [] }: RequestProfile,
  secrets: RequestSecrets | null
): Headers => {
  const secret = (found: Redacted.Redacted | null | undefined, of: string) => {
    if (found === null || found === undefined) throw new Error(`There is no secret of ${of}`)
    return Redacted.value(found)
  }
  const credentials = () => {
    if (authentication?.kind === "basic") {
      const password = secret(secrets?.authentication, "authentication")
      return [["authorization", `Basic ${btoa(`${authentication.username}:${password}`)}`]]
    }
    if (authentication?.kind !== "bearer") return []
    return [["authorization", `Bearer ${secret(secrets?.authentication, "authentication")}`]]
  }
  return Object.fromEntries([
    ...credentials(),
    ...headers.map((header) => [
      spelt(header.name),
      "value" in header ? header.value : secret(storedFor(secrets, header.name), header.name)
    ])
  ])
}
