/**
 * Signing in to the console and out of it, and what its page must know before it shows anything:
 *
 *   POST   /console/session   `{code}` from a link, or `{token}`: answers with the cookie
 *   GET    /console/session   the sessions of this browser with their rights, and the operator's name and colour
 *   DELETE /console/session   ends the session that `x-console` names
 *
 * Source: decision §9.
 */
import { type HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { type ConsoleSession, ConsoleSessions } from "@posthorn/capabilities/ConsoleSessions"
import {
  type InvalidRequest,
  invalid,
  MethodNotAllowed,
  type PublicError,
  UnsupportedMediaType
} from "@posthorn/domain/Errors"
import { Effect, Option } from "effect"
import { Calls } from "../Calls.ts"
import { isJson, readBody } from "../http/Body.ts"
import { ConnectionLimits } from "../http/ConnectionLimits.ts"
import { toResponse } from "../http/Rest.ts"
import { ServerConfig } from "../ServerConfig.ts"
import { ConsoleConfig } from "./ConsoleConfig.ts"
import { foreign, SessionDoor } from "./SessionDoor.ts"

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
const comesFromElsewhere = (headers: Readonly<Record<string, string | undefined>>, host: string) => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin"
  return headers.origin !== undefined && headers.origin.replace(/^https?:\/\//, "") !== host
}

export class SessionRoutes extends Effect.Service<SessionRoutes>()("@posthorn/server/SessionRoutes", {
  dependencies: [Calls.Default, ConsoleSessions.Default, SessionDoor.Default],
  effect: Effect.gen(function* () {
    const calls = yield* Calls
    const brand = yield* ConsoleConfig
    const door = yield* SessionDoor
    const sessions = yield* ConsoleSessions
    const { version } = yield* ServerConfig
    const { bodyMs } = yield* ConnectionLimits

    const open = (credential: Credential) =>
      "code" in credential ? sessions.openByCode(credential.code) : sessions.openByToken(credential.token)

    const signIn = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.gen(function* () {
        if (comesFromElsewhere(request.headers, request.headers.host ?? "")) return yield* foreign()
        if (!isJson(request.headers)) return yield* new UnsupportedMediaType()
        const opened = yield* Effect.flatMap(Effect.flatMap(readBody(request, bodyMs), credentialOf), open)
        if (opened === undefined)
          return yield* door.unauthorized(Option.getOrElse(request.remoteAddress, () => ""))
        return HttpServerResponse.unsafeJson(
          { workspace: { slug: opened.workspaceSlug } },
          { status: 201, headers: { "set-cookie": door.cookies.set(opened.workspaceSlug, opened.secret) } }
        )
      })

    const signOut = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.gen(function* () {
        if (!door.isOurs(request.method, request.headers)) return yield* foreign()
        const slug = request.headers["x-console"] ?? ""
        const session = yield* door.find(undefined, request.headers)
        if (session !== undefined) yield* sessions.close(session)
        const ended = session?.workspaceSlug ?? (/^[a-z0-9-]{1,48}$/.test(slug) ? slug : undefined)
        return HttpServerResponse.empty({
          status: 204,
          headers: ended === undefined ? {} : { "set-cookie": door.cookies.clear(ended) }
        })
      })

    const show = (request: HttpServerRequest.HttpServerRequest) =>
      Effect.map(door.all(request.headers), (found) =>
        HttpServerResponse.unsafeJson({
          brand: { name: brand.name, accent: brand.accent, hasLogo: brand.logo !== null },
          version,
          sessions: found.map(shownSession)
        })
      )

    const routes: Readonly<
      Record<
        string,
        (
          request: HttpServerRequest.HttpServerRequest
        ) => Effect.Effect<HttpServerResponse.HttpServerResponse, PublicError>
      >
    > = { POST: signIn, GET: show, HEAD: show, DELETE: signOut }

    const handle = (request: HttpServerRequest.HttpServerRequest, traceId: string) => {
      const route = routes[request.method]
      const answer =
        route === undefined
          ? Effect.fail(new MethodNotAllowed({ allow: "GET, HEAD, POST, DELETE" }))
          : route(request)
      return answer.pipe(
        Effect.catchAll((error) => Effect.succeed(toResponse(calls.refuse(error, traceId), traceId))),
        Effect.map(
          HttpServerResponse.setHeaders({ "cache-control": "no-store", "x-content-type-options": "nosniff" })
        )
      )
    }

    return { handle } as const
  })
}) {}
