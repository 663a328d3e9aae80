/**
 * Takes the secrets out of a request profile that was sent: the profile is stored with fingerprints in their place, the secrets are
 * sealed beside it.
 *
 * A secret that is left out stays as it is stored, unless requests would go to another origin: otherwise whoever may change a URL
 * could read the secrets by having them sent to a server of their own. Source: spec §2.9.
 */
import { createHmac, randomBytes } from "node:crypto"
import { InvalidRequest, type Issue } from "@posthorn/domain/Errors"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { type RequestProfile, type SentRequestProfile, VALUE_MESSAGE } from "@posthorn/domain/RequestProfile"
import { RequestSecrets } from "@posthorn/domain/RequestSecrets"
import { SecretBox, SecretUnreadable } from "@posthorn/persistence/client/SecretBox"
import { Effect, Either, Option, Redacted, Schema } from "effect"

/** A profile, and its secrets sealed; null for none. */
export interface StoredRequest {
  readonly request: RequestProfile | null
  readonly requestSecrets: Buffer | null
}

interface EndpointKey {
  readonly workspaceId: WorkspaceId
  readonly endpointId: EndpointId
}

type Secret = Redacted.Redacted

/** The member that holds the secret of each kind of authentication. */
const SECRET_OF = { basic: "password", bearer: "token" } as const

const MOVED = "The origin changes: send this secret again, or leave it out of the request"

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

/** What was sent of an authentication besides its secret, and the secret. */
const divided = (sent: NonNullable<SentRequestProfile["authentication"]>) => {
  const { fingerprint: _, secret: __, ...rest } = sent
  if (rest.kind === "basic") {
    const { password, ...shown } = rest
    return { shown, given: password }
  }
  const { token, ...shown } = rest
  return { shown, given: token }
}

/** Every secret that is left out, by its place in the request. */
const placesOf = ({ authentication, headers = [] }: RequestProfile): ReadonlyArray<string> => [
  ...headers.flatMap((header, n) => ("value" in header ? [] : [`/headers/${n}/value`])),
  ...(authentication === undefined ? [] : [`/authentication/${SECRET_OF[authentication.kind]}`])
]

const issuesOf = (places: ReadonlyArray<string>, message: string): ReadonlyArray<Issue> =>
  places.map((place) => ({ path: `/request${place}`, message }))

/** The profile with fingerprints, and its secrets. `kept` has the secrets that may stay. */
const merged = (
  sent: SentRequestProfile,
  present: RequestProfile | null,
  secrets: RequestSecrets,
  isMoved: boolean
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
    const stored = secrets.headers[name.toLowerCase()]
    if (value !== undefined && header.secret === undefined) return { name, value: Redacted.value(value) }
    const secret = value ?? (isMoved ? undefined : stored)
    if (secret === undefined) {
      missing(`/headers/${n}/value`, stored)
      return { name, value: "" }
    }
    kept[name.toLowerCase()] = secret
    return { name, secret: true as const, fingerprint: fingerprintOf(secrets, secret) }
  }

  const authenticated = (given: NonNullable<typeof authentication>) => {
    const { given: value, shown } = divided(given)
    const stored = present?.authentication?.kind === shown.kind ? secrets.authentication : null
    const secret = value ?? (isMoved ? null : stored)
    if (secret === null) missing(`/authentication/${SECRET_OF[shown.kind]}`, stored)
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

      /** Secrets that cannot be read are as good as none: they have to be sent again. */
      const opened = (row: EndpointKey, sealed: Buffer): RequestSecrets => {
        try {
          return Option.getOrElse(decode(Redacted.value(box.open({ ...row, of: "request" }, sealed))), none)
        } catch (error) {
          if (error instanceof SecretUnreadable) return none()
          throw error
        }
      }

      /**
       * What is to be stored in the place of `present`; `sent` is undefined when only the URL may change. `isMoved`: the endpoint's
       * requests go to another origin.
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
            merged(sent, present.request, secrets, isMoved),
            refused
          )
          if (placesOf(request).length === 0) return { request, requestSecrets: null }
          return { request, requestSecrets: box.seal({ ...row, of: "request" }, Redacted.make(encode(kept))) }
        })

      return { next } as const
    })
  }
) {}
