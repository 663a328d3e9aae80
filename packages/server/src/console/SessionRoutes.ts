/**
 * Signing in to the console and out of it, and what its page needs before it can show anything:
 *
 *   POST   /console/link      `{code}` from a link: whom it signs in, and where; the link stays
 *   POST   /console/session   `{code}` from a link, or `{token}`: answers with the cookie; `{code, embedIn}` of an embedded page:
 *                             answers with the secret, and no cookie
 *   GET    /console/session   the sessions of this browser with their rights, and the operator's name and colour
 *   DELETE /console/session   ends the session that `x-console` names
 *
 * Source: spec §11.
 */
import { HttpApiBuilder, HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { type ConsoleSession, ConsoleSessions } from "@posthorn/capabilities/ConsoleSessions"
import { InstallationPolicy } from "@posthorn/capabilities/InstallationPolicy"
import type { ConsoleView } from "@posthorn/domain/ConsoleView"
import { ForeignOrigin, type InvalidRequest, invalid } from "@posthorn/domain/Errors"
import { Effect, Layer, Option } from "effect"
import { Authentication } from "../gate/Authentication.ts"
import { CurrentCall } from "../gate/CurrentCall.ts"
import { clientKey, RateLimits } from "../gate/RateLimits.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { ConsoleConfig } from "./ConsoleConfig.ts"
import { embeddedSecret, isOurs, SessionAuthentication } from "./SessionAuthentication.ts"

type Credential =
  | { readonly code: string; readonly embedIn: ConsoleView["embedIn"] }
  | { readonly token: string }

const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= 512

const isOrigins = (value: unknown): value is ConsoleView["embedIn"] =>
  value === null || (Array.isArray(value) && value.every(isText))

const credentialOf = (text: string): Effect.Effect<Credential, InvalidRequest> => {
  try {
    const { code, embedIn = null, token, ...more } = JSON.parse(text) as Record<string, unknown>
    const isWhole = Object.keys(more).length === 0
    if (isWhole && isText(code) && token === undefined && isOrigins(embedIn))
      return Effect.succeed({ code, embedIn })
    if (isWhole && isText(token) && code === undefined && embedIn === null)
      return Effect.succeed({ token: token.trim() })
  } catch {
    // Falls through: text that is not JSON is refused like any other wrong shape.
  }
  return Effect.fail(
    invalid("", 'Send {"code": "…"} from a console link, or {"token": "…"} with an API token')
  )
}

const shownSession = (session: ConsoleSession) => ({
  workspace: { slug: session.workspaceSlug, name: session.workspaceName },
  actor: session.actor,
  permissions: [...session.permissions],
  expiresAt: session.endsAt,
  ...session.view
})

/** A request from a foreign page shows that in one of these headers. A request with neither does not come from a browser. */
const comesFromElsewhere = ({ headers }: HttpServerRequest.HttpServerRequest) => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin"
  return headers.origin !== undefined && headers.origin.replace(/^https?:\/\//, "") !== (headers.host ?? "")
}

const addressOf = ({ remoteAddress }: HttpServerRequest.HttpServerRequest) =>
  Option.getOrElse(remoteAddress, () => "")

const request = HttpServerRequest.HttpServerRequest

export const sessionRoutesLive = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    const { mayTry, unauthorized } = yield* Authentication
    const limits = yield* RateLimits
    const brand = yield* ConsoleConfig
    const authentication = yield* SessionAuthentication
    const sessions = yield* ConsoleSessions
    const { version } = yield* ServerConfig
    const { mostTimeoutMs, requestTimeoutMs, retryDelayMs } = yield* InstallationPolicy

    const open = (credential: Credential) =>
      Effect.flatMap(CurrentCall, ({ traceId }) =>
        "code" in credential
          ? sessions.openByCode(credential.code, credential.embedIn, traceId)
          : sessions.openByToken(credential.token, traceId)
      )

    const signIn = Effect.gen(function* () {
      const asked = yield* request
      if (comesFromElsewhere(asked)) return yield* new ForeignOrigin()
      const credential = yield* Effect.flatMap(Effect.orDie(asked.text), credentialOf)
      yield* mayTry(addressOf(asked))
      // Each that succeeds leaves a session and an audit event.
      yield* limits.take("rest_write", `address:${clientKey(addressOf(asked))}`)
      const opened = yield* open(credential)
      if (opened === undefined) return yield* unauthorized(addressOf(asked))
      const workspace = { slug: opened.workspaceSlug }
      if ("code" in credential && credential.embedIn !== null)
        return HttpServerResponse.unsafeJson({ workspace, secret: opened.secret }, { status: 201 })
      return HttpServerResponse.unsafeJson(
        { workspace },
        {
          status: 201,
          headers: { "set-cookie": authentication.cookies.set(opened.workspaceSlug, opened.secret) }
        }
      )
    })

    const look = Effect.gen(function* () {
      const asked = yield* request
      if (comesFromElsewhere(asked)) return yield* new ForeignOrigin()
      const credential = yield* Effect.flatMap(Effect.orDie(asked.text), credentialOf)
      yield* mayTry(addressOf(asked))
      const link = "code" in credential ? yield* sessions.findLink(credential.code) : undefined
      if (link === undefined) return yield* unauthorized(addressOf(asked))
      return HttpServerResponse.unsafeJson({
        workspace: { slug: link.workspaceSlug, name: link.workspaceName },
        actor: { type: link.actor.type, id: link.actor.id, name: link.actor.name }
      })
    })

    const signOut = Effect.gen(function* () {
      const asked = yield* request
      if (!isOurs(asked)) return yield* new ForeignOrigin()
      const slug = asked.headers["x-console"] ?? ""
      const session = yield* authentication.findNamed(asked.headers)
      const { traceId } = yield* CurrentCall
      if (session !== undefined) yield* sessions.close(session, traceId)
      const ended = session?.workspaceSlug ?? (/^[a-z0-9-]{1,48}$/.test(slug) ? slug : undefined)
      return HttpServerResponse.empty({
        status: 204,
        headers:
          ended === undefined || embeddedSecret(asked.headers) !== undefined
            ? {}
            : { "set-cookie": authentication.cookies.clear(ended) }
      })
    })

    const show = Effect.gen(function* () {
      const { headers } = yield* request
      const found = yield* authentication.all(headers)
      return HttpServerResponse.unsafeJson({
        brand: { name: brand.name, accent: brand.accent, hasLogo: brand.logo !== null },
        version,
        policyDefaults: { mostTimeoutMs, requestTimeoutMs, retryDelayMs },
        sessions: found.map(shownSession)
      })
    })

    yield* router.post("/console/link", look)
    yield* router.post("/console/session", signIn)
    yield* router.get("/console/session", show)
    yield* router.del("/console/session", signOut)
  })
).pipe(
  Layer.provide([
    Authentication.Default,
    ConsoleSessions.Default,
    RateLimits.Default,
    SessionAuthentication.Default
  ])
)
