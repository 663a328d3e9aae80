/**
 * The edge: everything that is no operation of the contract comes in here: MCP, the console, the pages, and what does not exist.
 *
 * Gives each request its trace id, finds who answers it, and turns what nobody foresaw into an answer of the common
 * shape.
 */
import { HttpServerRequest, HttpServerResponse } from "@effect/platform"
import { MethodNotAllowed, RouteNotFound } from "@posthorn/domain/Errors"
import { continueTrace } from "@posthorn/domain/TraceId"
import { Effect } from "effect"
import { Calls } from "../Calls.ts"
import { ConsolePages } from "../console/ConsolePages.ts"
import { McpRoute } from "../mcp/McpRoute.ts"
import { Pages } from "./Pages.ts"
import { toResponse } from "./Rest.ts"
import * as Routes from "./Routes.ts"
import { NOSNIFF } from "./Send.ts"

/** Path and query of a request target, without the cost of a URL object. */
export const split = (url: string) => {
  const at = url.indexOf("?")
  return at < 0 ? { pathname: url, search: "" } : { pathname: url.slice(0, at), search: url.slice(at + 1) }
}

/** Where clients look for an authorisation server, before or after a 401. */
const OAUTH =
  /^\/\.well-known\/(?:oauth-protected-resource|oauth-authorization-server|openid-configuration)(?:\/mcp)?\/?$/

const notFound = (pathname: string) => {
  const error = new RouteNotFound()
  if (OAUTH.test(pathname)) {
    error.explanation =
      "There is no OAuth here. Calls carry an API token, `Authorization: Bearer <token>`: whoever runs the workspace makes one, and the client is configured with it."
  }
  return error
}

export class Edge extends Effect.Service<Edge>()("@posthorn/server/Edge", {
  dependencies: [Calls.Default, ConsolePages.Default, McpRoute.Default, Pages.Default],
  effect: Effect.gen(function* () {
    const calls = yield* Calls
    const console = yield* ConsolePages
    const mcp = yield* McpRoute
    const pages = yield* Pages

    const missing = (pathname: string, traceId: string) => {
      const allow = pages.allowed(pathname) ?? Routes.allowed(pathname)
      const error = allow === undefined ? notFound(pathname) : new MethodNotAllowed({ allow })
      return Effect.succeed(toResponse(calls.refuse(error, traceId), traceId))
    }

    const answer = (request: HttpServerRequest.HttpServerRequest, traceId: string) => {
      const { pathname } = split(request.url)
      if (pathname === "/mcp") return mcp.handle(request, traceId)
      if (pathname === "/console" || pathname.startsWith("/console/"))
        return console.handle(request, pathname, traceId)
      const page = pages.find(request.method, pathname)
      return page === undefined
        ? missing(pathname, traceId)
        : Effect.map(page, (found) => HttpServerResponse.setHeader(found, "x-trace-id", traceId))
    }

    const app: Effect.Effect<
      HttpServerResponse.HttpServerResponse,
      never,
      HttpServerRequest.HttpServerRequest
    > = Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const traceId = continueTrace(request.headers.traceparent)
      return Effect.suspend(() => answer(request, traceId)).pipe(
        Effect.catchAllCause((cause) =>
          Effect.map(calls.unforeseen(cause, traceId), (given) => toResponse(given, traceId))
        ),
        Effect.map(HttpServerResponse.setHeaders(NOSNIFF))
      )
    })

    return { app } as const
  })
}) {}
