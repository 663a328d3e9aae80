/**
 * The HTTP server: the contract's operations, MCP, the console and the pages on one router, served by the platform.
 *
 * Everything is built before it listens, so that every request is served. Stopping is graceful: first it reports not ready and
 * keeps serving (Readiness.ts); then it accepts no new connections, requests in flight are answered, and new requests on
 * kept-alive connections get 503.
 */
import {
  Etag,
  FileSystem,
  HttpApiBuilder,
  HttpMiddleware,
  HttpPlatform,
  HttpRouter,
  HttpServer,
  Path
} from "@effect/platform"
import { NodeHttpServer } from "@effect/platform-node"
import * as Operators from "@posthorn/capabilities/Operators"
import { Stopping } from "@posthorn/domain/Errors"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Context, Effect, Layer, Runtime, RuntimeFlags, RuntimeFlagsPatch, Scope } from "effect"
import { operationsLive } from "./api/Operations.ts"
import { Failures } from "./calls/Failures.ts"
import { consoleApiLive } from "./console/ConsoleApi.ts"
import { consolePagesLive } from "./console/ConsolePages.ts"
import { sessionRoutesLive } from "./console/SessionRoutes.ts"
import { Authentication } from "./gate/Authentication.ts"
import { Turns } from "./gate/Turns.ts"
import { pagesLive } from "./guides/Pages.ts"
import { boundClients } from "./http/ClientConnections.ts"
import { ConnectionLimits } from "./http/ConnectionLimits.ts"
import { makeNodeServer, refusing } from "./http/NodeServer.ts"
import { publicKeySetsLive } from "./http/PublicKeySets.ts"
import { Readiness } from "./http/Readiness.ts"
import { makeRequests } from "./http/Requests.ts"
import { makeRouteTable } from "./http/RouteTable.ts"
import { mcpLive } from "./mcp/McpTransport.ts"
import { ServerConfig } from "./ServerConfig.ts"

/** Longer than any request line, so that a long id is an unknown id and not an unknown path. */
const MAX_PARAM_LENGTH = 20_000

const SAID_EVERY_MS = 60_000

/** Logs, at most once a minute, that connections are refused, which would otherwise be invisible. */
const sayWhenFull = (server: ReturnType<typeof makeNodeServer>, mostOfOne: number) =>
  Effect.zipWith(Effect.runtime<never>(), Effect.clock, (runtime, clock) => {
    let saidAt = Number.NEGATIVE_INFINITY
    const say = (taken: string, remedy: string) => {
      const now = elapsed(clock)
      if (now - saidAt < SAID_EVERY_MS) return
      saidAt = now
      Runtime.runFork(runtime)(
        Effect.logWarning(`All ${taken} are taken: new ones are closed at once. ${remedy}.`)
      )
    }
    server.on("drop", () =>
      say(`${server.maxConnections} connections`, "Look who holds them, or start one more process")
    )
    boundClients(server, mostOfOne, (client) =>
      say(`${mostOfOne} connections of ${client}`, "If that is a proxy, raise CONNECTIONS_PER_ADDRESS")
    )
  })

/** All routes. The console and MCP call the operations, so those are provided to them. */
const routesLive = Layer.mergeAll(
  consoleApiLive,
  mcpLive,
  sessionRoutesLive,
  consolePagesLive,
  pagesLive,
  publicKeySetsLive
).pipe(Layer.provideMerge(operationsLive))

const application = (turns: Turns) =>
  Effect.gen(function* () {
    const router = yield* HttpApiBuilder.Router.router
    const app = yield* HttpRouter.withRouterConfig(HttpRouter.toHttpApp(router), {
      maxParamLength: MAX_PARAM_LENGTH
    })
    return yield* makeRequests(app, makeRouteTable(router.routes), turns)
  })

const operatorsLive = Layer.unwrapEffect(
  Effect.map(ServerConfig, ({ operatorTokens }) => Operators.layer(operatorTokens))
)

/** The context in which a request's fiber begins. It is kept small, because each step that adds to it copies all of it. */
const onlyNeeded = Context.pick(
  Etag.Generator,
  FileSystem.FileSystem,
  HttpPlatform.HttpPlatform,
  Path.Path,
  Scope.Scope
)

/** Listens and answers; the address is in `HttpServer`. */
export const serverLive = Layer.scoped(
  HttpServer.HttpServer,
  Effect.gen(function* () {
    const { baseUrl, host, port } = yield* ServerConfig
    const readiness = yield* Readiness
    const app = yield* application(new Turns())
    const limits = yield* ConnectionLimits
    const node = makeNodeServer(baseUrl, limits)
    const server = yield* NodeHttpServer.make(() => node, { host, port })
    yield* sayWhenFull(node, limits.connectionsPerAddress)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => node.on("request", refusing(new Stopping({ retryAfterSeconds: 1 }), baseUrl)))
    )
    yield* server.serve(app).pipe(
      Effect.mapInputContext((all: Context.Context<HttpRouter.HttpRouter.DefaultServices | Scope.Scope>) =>
        onlyNeeded(all)
      ),
      // The platform's counts of fibers are not used.
      Effect.withRuntimeFlagsPatch(RuntimeFlagsPatch.disable(RuntimeFlags.RuntimeMetrics))
    )
    // A client only offers an upgrade (RFC 9110 §7.8). While somebody listens for it, Node takes the body away from the request.
    node.removeAllListeners("upgrade")
    yield* Effect.addFinalizer(() => readiness.drain)
    return server
  })
).pipe(
  Layer.provide([routesLive, Authentication.Default, Failures.Default, Readiness.Default]),
  Layer.provide(HttpApiBuilder.Router.Live),
  Layer.provide(operatorsLive),
  Layer.provide(NodeHttpServer.layerContext),
  HttpMiddleware.withTracerDisabledWhen(() => true)
)
