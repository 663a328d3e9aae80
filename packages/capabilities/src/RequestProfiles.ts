/**
 * Takes the secrets out of a request profile that was sent: the profile is stored with fingerprints in their place, the secrets are
 * sealed beside it.
 *
 * A secret that is left out stays as it is stored, unless requests would go to another origin or path: otherwise whoever may change a URL
 * could read the secrets by having them sent to a server of their own. Source: spec §2.9.
 */
import { createHmac, randomBytes } from "node:crypto"
import type { AllowedTargets } from "@posthorn/domain/AllowedTargets"
import { InvalidRequest, type Issue } from "@posthorn/domain/Errors"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { type RequestProfile, type SentRequestProfile, VALUE_MESSAGE } from "@posthorn/domain/RequestProfile"
import { RequestSecrets, storedFor } from "@posthorn/domain/RequestSecrets"
import { validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { flawOf } from "@posthorn/egress/ClientCertificate"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import { Effect, Either, Option, Redacted, Schema } from "effect"

import { InstallationPolicy } from "./InstallationPolicy.ts"

export interface StoredRequest {
  readonly request: RequestProfile | null
  readonly requestSecrets: Buffer | null
}

export interface EndpointKey {
  readonly workspaceId: WorkspaceId
  readonly endpointId: EndpointId
}

type Secret = Redacted.Redacted

const SECRET_OF = { basic: "password", bearer: "token", oauth2: "clientSecret", mtls: "privateKey" } as const

const MOVED = "The URL's origin or path changes: send this secret again, or leave it out of the request"

const text = Schema.parseJson(RequestSecrets)
const encode = Schema.encodeSync(text)
const decode = Schema.decodeOption(text)

const fingerprintOf = ({ fingerprintKey }: RequestSecrets, secret: Secret): string =>
  createHmac("sha256", Buffer.from(Redacted.value(fingerprintKey), "base64"))
    .update(Redacted.value(secret))
    .digest("hex")
    .slice(0, 16)

const none = (): RequestSecrets => ({
  fingerprintKey: Redacted.make(randomBytes(32).toString("base64")),
  headers: {},
  authentication: null
})

type SentAuthentication = NonNullable<SentRequestProfile["authentication"]>

/** What was sent of an authentication besides its secret, and the secret. */
const divided = (sent: SentAuthentication) => {
  switch (sent.kind) {
    case "basic": {
      const { fingerprint: _, password: given, secret: __, ...shown } = sent
      return { shown, given }
    }
    case "bearer": {
      const { fingerprint: _, secret: __, token: given, ...shown } = sent
      return { shown, given }
    }
    case "oauth2": {
      const { clientSecret: given, fingerprint: _, secret: __, ...shown } = sent
      return { shown, given }
    }
    case "mtls": {
      const { fingerprint: _, privateKey: given, secret: __, ...shown } = sent
      return { shown, given }
    }
  }
}

const PAIR_FLAWS = {
  certificate: [
    "certificate",
    "Expected a certificate as PEM that TLS can use: at most 5 of them, 16 KiB, with keys of RSA up to 4,096 bits, P-256, P-384 or Ed25519"
  ],
  privateKey: [
    "privateKey",
    "Expected a private key as PEM, without a passphrase: RSA up to 4,096 bits, P-256, P-384 or Ed25519"
  ],
  pair: ["privateKey", "This key does not belong to the certificate, or TLS cannot use it"]
} as const

/** Every secret that is left out, by its place in the request. */
const placesOf = ({ authentication, headers = [] }: RequestProfile): ReadonlyArray<string> => [
  ...headers.flatMap((header, n) => ("value" in header ? [] : [`/headers/${n}/value`])),
  ...(authentication === undefined ? [] : [`/authentication/${SECRET_OF[authentication.kind]}`])
]

const issuesOf = (places: ReadonlyArray<string>, message: string): ReadonlyArray<Issue> =>
  places.map((place) => ({ path: `/request${place}`, message }))

/** Whether requests go to another origin or path: those of one origin may belong to different people. */
export const isElsewhere = (one: string, other: string): boolean => {
  const [a, b] = [new URL(one), new URL(other)]
  return a.origin !== b.origin || a.pathname !== b.pathname
}

const isAskedElsewhere = (
  before: RequestProfile["authentication"],
  now: { readonly kind: string; readonly tokenUrl?: string }
): boolean =>
  before?.kind === "oauth2" &&
  now.tokenUrl !== undefined &&
  URL.canParse(now.tokenUrl) &&
  isElsewhere(before.tokenUrl, now.tokenUrl)

/** The profile with fingerprints, and its secrets. `kept` has the secrets that may stay. */
const merged = (
  sent: SentRequestProfile,
  present: RequestProfile | null,
  secrets: RequestSecrets,
  isMoved: boolean,
  allowed: AllowedTargets
): Either.Either<
  { readonly request: RequestProfile; readonly secrets: RequestSecrets },
  ReadonlyArray<Issue>
> => {
  const { authentication, headers, ...shape } = sent
  const issues: Array<Issue> = []
  const missing = (place: string, stored: Secret | null | undefined) => {
    const message = stored === null || stored === undefined ? VALUE_MESSAGE : MOVED
    issues.push(...issuesOf([place], message))
  }
  const kept: Record<string, Secret> = {}

  const headerOf = (header: NonNullable<typeof headers>[number], n: number) => {
    const { name, value } = header
    const stored = storedFor(secrets, name)
    if (value !== undefined && header.secret === undefined) return { name, value: Redacted.value(value) }
    const secret = value ?? (isMoved ? undefined : stored)
    if (secret === undefined) {
      missing(`/headers/${n}/value`, stored)
      return { name, value: "" }
    }
    kept[name.toLowerCase()] = secret
    return { name, secret: true as const, fingerprint: fingerprintOf(secrets, secret) }
  }

  const tokenUrlOf = (url: string) =>
    Either.getOrElse(validateWebhookUrl(url, allowed), (reason) => {
      issues.push(...issuesOf(["/authentication/tokenUrl"], `This URL is refused: ${reason}`))
      return url
    })

  const checkPair = (certificate: string, privateKey: Secret) => {
    const flaw = flawOf({ certificate, privateKey })
    if (flaw === null) return
    const [member, message] = PAIR_FLAWS[flaw]
    issues.push(...issuesOf([`/authentication/${member}`], message))
  }

  const authenticated = (given: SentAuthentication) => {
    const { given: value, shown } = divided(given)
    if (shown.kind === "oauth2") shown.tokenUrl = tokenUrlOf(shown.tokenUrl)
    const before = present?.authentication
    const stored = before?.kind === shown.kind ? secrets.authentication : null
    const secret = value ?? (isMoved || isAskedElsewhere(before, shown) ? null : stored)
    if (secret === null) missing(`/authentication/${SECRET_OF[shown.kind]}`, stored)
    else if (shown.kind === "mtls") checkPair(shown.certificate, secret)
    const fingerprint = secret === null ? "" : fingerprintOf(secrets, secret)
    return { secret, shown: { ...shown, secret: true as const, fingerprint } }
  }

  const shownOf = headers?.map(headerOf)
  const credentials = authentication === undefined ? undefined : authenticated(authentication)
  if (issues.length > 0) return Either.left(issues)
  return Either.right({
    request: {
      ...(shownOf !== undefined && { headers: shownOf }),
      ...(credentials !== undefined && { authentication: credentials.shown }),
      ...shape
    },
    secrets: { ...secrets, headers: kept, authentication: credentials?.secret ?? null }
  })
}

export class RequestProfiles extends Effect.Service<RequestProfiles>()(
  "@posthorn/capabilities/RequestProfiles",
  {
    effect: Effect.gen(function* () {
      const box = yield* SecretBox
      const { allowedTargets } = yield* InstallationPolicy

      /** Secrets that cannot be read are as good as none: they have to be sent again. */
      const opened = (row: EndpointKey, sealed: Buffer): RequestSecrets =>
        Either.getRight(box.open({ ...row, of: "request" }, sealed)).pipe(
          Option.flatMap((text) => decode(Redacted.value(text))),
          Option.getOrElse(none)
        )

      /**
       * What is to be stored in the place of `present`; `sent` is undefined when only the URL may change. `isMoved`: the endpoint's
       * requests go to another origin or path.
       */
      const next = (
        row: EndpointKey,
        present: StoredRequest,
        sent: SentRequestProfile | null | undefined,
        isMoved: boolean
      ): Effect.Effect<StoredRequest, InvalidRequest> =>
        Effect.gen(function* () {
          const refused = (issues: ReadonlyArray<Issue>) => new InvalidRequest({ issues })
          if (sent === undefined) {
            const places = isMoved && present.request !== null ? placesOf(present.request) : []
            return places.length === 0 ? present : yield* refused(issuesOf(places, MOVED))
          }
          if (sent === null) return { request: null, requestSecrets: null }
          const secrets = present.requestSecrets === null ? none() : opened(row, present.requestSecrets)
          const { request, secrets: kept } = yield* Either.mapLeft(
            merged(sent, present.request, secrets, isMoved, allowedTargets),
            refused
          )
          if (placesOf(request).length === 0) return { request, requestSecrets: null }
          return { request, requestSecrets: box.seal({ ...row, of: "request" }, Redacted.make(encode(kept))) }
        })

      /** The password, token, client secret or private key; null if there is none that a key opens. */
      const authenticationSecret = (row: EndpointKey, sealed: Buffer | null): Secret | null =>
        sealed === null ? null : opened(row, sealed).authentication

      return { authenticationSecret, next } as const
    })
  }
) {}
