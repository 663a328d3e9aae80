/**
 * Signing in to the console and out of it, and what its page must know before it shows anything:
 *
 *   POST   /console/session   `{code}` from a link, or `{token}`: answers with the cookie
 *   GET    /console/session   the sessions of this browser with their rights, and the operator's name and colour
 *   DELETE /console/session   ends the session that `x-console` names
 *
 * Source: decision §9.
 */
import { HttpServerResponse } from "@effect/platform"
import { type ConsoleSession, ConsoleSessions } from "@posthorn/capabilities/ConsoleSessions"
import {
  ForeignOrigin,
  type InvalidRequest,
  invalid,
  MethodNotAllowed,
  type PublicError,
  UnsupportedMediaType
} from "@posthorn/domain/Errors"
import { Effect } from "effect"
import { Gate } from "../Gate.ts"
import { isJson, readBody } from "../http/Body.ts"
import { ConnectionLimits } from "../http/ConnectionLimits.ts"
import type { Exchange } from "../http/Exchange.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { ConsoleConfig } from "./ConsoleConfig.ts"
import { SessionDoor } from "./SessionDoor.ts"

type Credential = { readonly code: string } | { readonly token: string }

const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && value.length <= 512

const credentialOf = (text: string): Effect.Effect<Credential, InvalidRequest> => {
  try {
    const { code, token, ...more } = JSON.parse(text) as Record<string, unknown>
    if (Object.keys(more).length === 0 && isText(code) && token === undefined) return Effect.succeed({ code })
    if (Object.keys(more).length === 0 && isText(token) && code === undefined)
      return Effect.succeed({ token: token.trim() })
  } catch {
    // Falls through: not JSON is as wrong as another shape.
  }
  return Effect.fail(
    invalid("", 'Send {"code": "…"} from a console link, or {"token": "…"} with an API token')
  )
}

const shownSession = (session: ConsoleSession) => ({
  workspace: { slug: session.workspaceSlug, name: session.workspaceName },
  actor: { ...session.actor, name: session.name },
  permissions: [...session.permissions],
  expiresAt: session.endsAt
})

/** A request that a foreign page made says so in one of these. Without either it comes from no browser. */
const comesFromElsewhere = ({ headers }: Exchange) => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin"
  return headers.origin !== undefined && headers.origin.replace(/^https?:\/\//, "") !== (headers.host ?? "")
}

export class SessionRoutes extends Effect.Service<SessionRoutes>()("@posthorn/server/SessionRoutes", {
  dependencies: [ConsoleSessions.Default, Gate.Default, SessionDoor.Default],
  effect: Effect.gen(function* () {
    const gate = yield* Gate
    const brand = yield* ConsoleConfig
    const door = yield* SessionDoor
    const sessions = yield* ConsoleSessions
    const { version } = yield* ServerConfig
    const { bodyMs } = yield* ConnectionLimits

    const open = (credential: Credential) =>
      "code" in credential ? sessions.openByCode(credential.code) : sessions.openByToken(credential.token)

    const signIn = (exchange: Exchange) =>
      Effect.gen(function* () {
        if (comesFromElsewhere(exchange)) return yield* new ForeignOrigin()
        if (!isJson(exchange.headers)) return yield* new UnsupportedMediaType()
        const opened = yield* Effect.flatMap(Effect.flatMap(readBody(exchange, bodyMs), credentialOf), open)
        if (opened === undefined) return yield* gate.unauthorized(exchange, exchange.address)
        return HttpServerResponse.unsafeJson(
          { workspace: { slug: opened.workspaceSlug } },
          { status: 201, headers: { "set-cookie": door.cookies.set(opened.workspaceSlug, opened.secret) } }
        )
      })

    const signOut = (exchange: Exchange) =>
      Effect.gen(function* () {
        if (!door.isOurs(exchange)) return yield* new ForeignOrigin()
        const slug = exchange.headers["x-console"] ?? ""
        const session = yield* door.find(undefined, exchange.headers)
        if (session !== undefined) yield* sessions.close(session)
        const ended = session?.workspaceSlug ?? (/^[a-z0-9-]{1,48}$/.test(slug) ? slug : undefined)
        return HttpServerResponse.empty({
          status: 204,
          headers: ended === undefined ? {} : { "set-cookie": door.cookies.clear(ended) }
        })
      })

    const show = (exchange: Exchange) =>
      Effect.map(door.all(exchange.headers), (found) =>
        HttpServerResponse.unsafeJson({
          brand: { name: brand.name, accent: brand.accent, hasLogo: brand.logo !== null },
          version,
          sessions: found.map(shownSession)
        })
      )

    const routes: Readonly<
      Record<
        string,
        (exchange: Exchange) => Effect.Effect<HttpServerResponse.HttpServerResponse, PublicError>
      >
    > = { POST: signIn, GET: show, HEAD: show, DELETE: signOut }

    const handle = (exchange: Exchange): Effect.Effect<HttpServerResponse.HttpServerResponse, PublicError> =>
      routes[exchange.method]?.(exchange) ??
      Effect.fail(new MethodNotAllowed({ allow: "GET, HEAD, POST, DELETE" }))

    return { handle } as const
  })
}) {}
