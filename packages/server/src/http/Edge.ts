/**
 * The edge: every request comes in here, and goes to the operation that it names, to MCP, the console, a page, or to
 * nobody.
 *
 * What nobody foresaw becomes an answer of the common shape.
 */
import type { HttpServerResponse } from "@effect/platform"
import { MethodNotAllowed, type PublicError, RouteNotFound } from "@posthorn/domain/Errors"
import { Effect } from "effect"
import { Calls } from "../Calls.ts"
import { ConsolePages } from "../console/ConsolePages.ts"
import { McpRoute } from "../mcp/McpRoute.ts"
import type { Exchange } from "./Exchange.ts"
import { Pages } from "./Pages.ts"
import { Rest } from "./Rest.ts"
import type { Sent } from "./Send.ts"

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

type Response = HttpServerResponse.HttpServerResponse

export class Edge extends Effect.Service<Edge>()("@posthorn/server/Edge", {
  dependencies: [Calls.Default, ConsolePages.Default, McpRoute.Default, Pages.Default, Rest.Default],
  effect: Effect.gen(function* () {
    const calls = yield* Calls
    const console = yield* ConsolePages
    const mcp = yield* McpRoute
    const pages = yield* Pages
    const rest = yield* Rest

    const missing = (exchange: Exchange): PublicError => {
      const allow = pages.allowed(exchange.pathname) ?? rest.allowed(exchange)
      return allow === undefined ? notFound(exchange.pathname) : new MethodNotAllowed({ allow })
    }

    /** What is no operation. */
    const other = (exchange: Exchange): Effect.Effect<Response, PublicError> => {
      const { method, pathname } = exchange
      if (pathname === "/mcp") return mcp.handle(exchange)
      if (pathname === "/console" || pathname.startsWith("/console/")) return console.handle(exchange)
      return pages.find(method, pathname)?.(exchange) ?? Effect.fail(missing(exchange))
    }

    const find = (exchange: Exchange): Effect.Effect<Sent, PublicError> => {
      try {
        return rest.find(exchange) ?? Effect.suspend(() => other(exchange))
      } catch (defect) {
        return Effect.die(defect)
      }
    }

    /** Finds at once who answers; every outcome is an answer. */
    const answer = (exchange: Exchange): Effect.Effect<Sent> => calls.settle(exchange)(find(exchange))

    return { answer } as const
  })
}) {}
