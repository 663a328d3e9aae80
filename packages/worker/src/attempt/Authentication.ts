/**
 * How an endpoint's requests authenticate beyond its headers: by a fetched token, or a client certificate. Source: spec §2.9.
 */
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import type { RequestProfile } from "@posthorn/domain/RequestProfile"
import { clientCredentialsOf, type RequestSecrets } from "@posthorn/domain/RequestSecrets"
import { validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { flawOf, identityOf, isValidAt, type Validity, validityOf } from "@posthorn/egress/ClientCertificate"
import type { ClientIdentity } from "@posthorn/egress/Origins"
import { type TokenOwner, type Tokens, type Versioned, versionOf } from "@posthorn/egress/Tokens"
import { Either, Redacted } from "effect"

export type RequestAuthentication =
  | { readonly kind: "none" }
  | { readonly kind: "oauth2"; readonly wanted: Versioned }
  | { readonly kind: "mtls"; readonly client: ClientIdentity; readonly validity: Validity }
  /** The profile's token endpoint, or its certificate, may not be used. */
  | { readonly kind: "broken" }

export const NONE: RequestAuthentication = { kind: "none" }
const BROKEN: RequestAuthentication = { kind: "broken" }

export const authenticationOf = (
  { authentication }: RequestProfile,
  secrets: RequestSecrets | null,
  allowed: AllowedTargets
): RequestAuthentication => {
  const secret = secrets?.authentication ?? Redacted.make("")
  if (authentication?.kind === "oauth2") {
    const tokenUrl = Either.getOrNull(validateWebhookUrl(authentication.tokenUrl, allowed))
    if (tokenUrl === null) return BROKEN
    const credentials = { ...clientCredentialsOf(authentication, secret), tokenUrl }
    return { kind: "oauth2", wanted: { credentials, version: versionOf(credentials) } }
  }
  if (authentication?.kind === "mtls") {
    const { certificate = "" } = authentication
    const pair = { certificate, privateKey: secret }
    const validity = validityOf(pair.certificate)
    if (validity === null || flawOf(pair) !== null) return BROKEN
    return { kind: "mtls", client: { ...pair, id: identityOf(pair) }, validity }
  }
  return NONE
}

export interface Given {
  readonly kind: "given"
  readonly token: Redacted.Redacted | null
  readonly client?: ClientIdentity
}

export type Credentials = Given | { readonly kind: "waiting" } | { readonly kind: "failed" }

const GIVEN: Credentials = { kind: "given", token: null }
const FAILED: Credentials = { kind: "failed" }

export const credentialsOf = (
  authentication: RequestAuthentication,
  owner: TokenOwner,
  tokens: Tokens,
  now: number
): Credentials => {
  switch (authentication.kind) {
    case "none":
      return GIVEN
    case "broken":
      return FAILED
    case "mtls":
      return isValidAt(authentication.validity, now)
        ? { kind: "given", token: null, client: authentication.client }
        : FAILED
    case "oauth2": {
      const asked = tokens.ask(owner, authentication.wanted)
      return asked.kind === "token" ? { kind: "given", token: asked.token } : asked
    }
  }
}
