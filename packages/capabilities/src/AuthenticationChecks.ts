/**
 * Tries whether Posthorn can authenticate itself to an endpoint: fetches a token, or looks at the certificate. The endpoint is not
 * asked, and the token is thrown away.
 *
 * The answer never holds the token, nor what the token endpoint said beyond its status and its OAuth error code. The request goes out
 * under the same guard as a worker's. Source: spec §2.9.
 */
import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import type { EndpointId } from "@posthorn/domain/Ids"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { type AuthenticationProfile, clientCredentialsOf } from "@posthorn/domain/RequestSecrets"
import { describeReason, validateWebhookUrl } from "@posthorn/domain/WebhookUrl"
import { flawOf, isValidAt, validityOf } from "@posthorn/egress/ClientCertificate"
import {
  ANSWER_LIMIT_BYTES,
  type ClientCredentials,
  requestToken,
  type TokenAnswer
} from "@posthorn/egress/ClientCredentials"
import * as Dispatch from "@posthorn/egress/Dispatch"
import { guard } from "@posthorn/egress/Guard"
import { EndpointsRepo } from "@posthorn/persistence/repositories/EndpointsRepo"
import { Clock, Effect, Either, type Redacted } from "effect"
import { InstallationPolicy } from "./InstallationPolicy.ts"
import { RequestProfiles } from "./RequestProfiles.ts"

export interface AuthenticationCheck {
  readonly ok: boolean
  readonly kind: AuthenticationProfile["kind"] | null
  readonly reason: string | null
  readonly expiresAt: string | null
}

/** Below the deadline for an answer of `serve`. */
const MOST_MS = 10_000

type Found = Omit<AuthenticationCheck, "kind">

const fine = (expiresAt: string | null = null): Found => ({ ok: true, reason: null, expiresAt })
const wrong = (reason: string, expiresAt: string | null = null): Found => ({ ok: false, reason, expiresAt })

const timeOf = (milliseconds: number) => new Date(milliseconds).toISOString()

const FLAWS = {
  certificate: "The certificate cannot be used.",
  privateKey: "The private key cannot be used.",
  pair: "The private key does not belong to the certificate."
} as const

const certificateFound = (certificate: string, privateKey: Redacted.Redacted, now: number): Found => {
  const flaw = flawOf({ certificate, privateKey })
  const validity = validityOf(certificate)
  if (flaw !== null || validity === null) return wrong(FLAWS[flaw ?? "certificate"])
  const expiresAt = timeOf(validity.to)
  if (isValidAt(validity, now)) return fine(expiresAt)
  const why =
    now < validity.from
      ? `The certificate is not valid before ${timeOf(validity.from)}.`
      : `The certificate expired at ${expiresAt}.`
  return wrong(why, expiresAt)
}

export class AuthenticationChecks extends Effect.Service<AuthenticationChecks>()(
  "@posthorn/capabilities/AuthenticationChecks",
  {
    dependencies: [EndpointsRepo.Default, RequestProfiles.Default],
    scoped: Effect.gen(function* () {
      const endpoints = yield* EndpointsRepo
      const requests = yield* RequestProfiles
      const { allowedTargets, outgoing, requestTimeoutMs } = yield* InstallationPolicy
      const { send } = yield* Effect.acquireRelease(
        Effect.sync(() =>
          Dispatch.open({
            ...outgoing,
            requestTimeoutMs: Math.min(requestTimeoutMs, MOST_MS),
            bodyLimitBytes: ANSWER_LIMIT_BYTES,
            refuses: guard(allowedTargets)
          })
        ),
        (dispatcher) => Effect.sync(dispatcher.close)
      )

      const ask = (workspaceId: string, credentials: ClientCredentials) =>
        Effect.async<TokenAnswer>((resume) => {
          const giveUp = requestToken(send)(workspaceId, credentials, (answer) =>
            resume(answer === null ? Effect.interrupt : Effect.succeed(answer))
          )
          return Effect.sync(giveUp)
        })

      const tokenFound = (workspaceId: string, credentials: ClientCredentials) =>
        Effect.gen(function* () {
          const tokenUrl = validateWebhookUrl(credentials.tokenUrl, allowedTargets)
          if (Either.isLeft(tokenUrl))
            return wrong(`The token URL is refused. ${describeReason(tokenUrl.left)}`)
          const answer = yield* ask(workspaceId, { ...credentials, tokenUrl: tokenUrl.right })
          const now = yield* Clock.currentTimeMillis
          return Either.match(answer, {
            onLeft: (reason) => wrong(reason),
            onRight: ({ livesSeconds }) => fine(timeOf(now + livesSeconds * 1_000))
          })
        })

      const check = Effect.fn("AuthenticationChecks.check")(function* (endpointId: EndpointId) {
        const principal = yield* CurrentPrincipal
        const { workspaceId } = principal
        const endpoint = yield* endpoints.findDetail(principal, endpointId)
        if (endpoint === undefined) return yield* new WebhookEndpointNotFound()
        const authentication = endpoint.request?.authentication
        if (authentication === undefined) return { kind: null, ...fine() }
        const sealed = yield* endpoints.requestSecrets(principal, endpointId)
        const { kind } = authentication
        const secret = requests.authenticationSecret({ workspaceId, endpointId }, sealed)
        if (secret === null)
          return { kind, ...wrong("Its secret cannot be opened with this server's ENCRYPTION_KEY.") }
        switch (authentication.kind) {
          case "oauth2":
            return { kind, ...(yield* tokenFound(workspaceId, clientCredentialsOf(authentication, secret))) }
          case "mtls": {
            const now = yield* Clock.currentTimeMillis
            return { kind, ...certificateFound(authentication.certificate ?? "", secret, now) }
          }
          default:
            return { kind, ...fine() }
        }
      })

      return { check } as const
    })
  }
) {}
