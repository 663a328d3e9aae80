/**
 * The HTTP server: Node's, under the edge.
 *
 * Stopping is graceful: no new connections, what is in flight is answered with `connection: close`, and what is still
 * open after the grace is cut. Node's own `close` waits for idle keep-alive connections, and a request that arrives on
 * one of them in that window would find no handler and hang; here it is answered 503.
 */
import { createServer, type Server as NodeServer, type ServerResponse } from "node:http"
import { HttpServer } from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { ServerConfig } from "../ServerConfig.ts"
import { Edge } from "./Edge.ts"

const GRACE_MS = 10_000
const HEADER_BYTES = 16_384

const gracefulServer = (): NodeServer => {
  const server = createServer({ requestTimeout: 30_000, headersTimeout: 10_000, maxHeaderSize: HEADER_BYTES })
  const open = new Set<ServerResponse>()
  server.on("request", (_request, response) => {
    open.add(response)
    response.once("close", () => open.delete(response))
  })
  const close = server.close.bind(server)
  server.close = (callback) => {
    for (const response of open) response.shouldKeepAlive = false
    server.on("request", (_request, response) => response.writeHead(503, { connection: "close" }).end())
    const timer = setTimeout(() => server.closeAllConnections(), GRACE_MS)
    return close((error) => {
      clearTimeout(timer)
      callback?.(error)
    })
  }
  return server
}

/** Listens; the address is in `HttpServer`. */
export const listenLive = Layer.unwrapEffect(
  Effect.map(ServerConfig, ({ host, port }) => NodeHttpServer.layer(gracefulServer, { host, port }))
)

/** Serves the edge on whatever `HttpServer` listens. */
export const serveLive = Layer.unwrapEffect(Effect.map(Edge, ({ app }) => HttpServer.serve(app))).pipe(
  Layer.provide(Edge.Default)
)
