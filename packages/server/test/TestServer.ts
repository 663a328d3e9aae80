/**
 * The whole server over a database of its own, for tests: `layer(testServer())`, then `TestServer` in the test.
 *
 * All parts are real: it listens on a free port, and tests speak HTTP to it. Rate limits are off unless a test sets a quota.
 * `enter` makes a workspace with an admin token, so that the tests of a file do not affect each other.
 */
import { HttpServer } from "@effect/platform"
import { NodeContext } from "@effect/platform-node"
import { InstallationPolicy } from "@posthorn/capabilities/InstallationPolicy"
import { KeySetsChecked } from "@posthorn/capabilities/PublicKeys"
import { type AllowedTargets, nothingAllowed } from "@posthorn/domain/AllowedTargets"
import { type Bucket, defaultQuotas, type Quota } from "@posthorn/domain/Bucket"
import { defaultLimits } from "@posthorn/domain/Limits"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Context, Effect, Layer, Redacted } from "effect"
import { memoryLive, type RateCounters } from "../src/gate/RateCounters.ts"
import { ConnectionLimits, type Limits } from "../src/http/ConnectionLimits.ts"
import { serverLive } from "../src/Server.ts"
import { ServerConfig } from "../src/ServerConfig.ts"

export const OPERATOR_TOKEN = "operator-token-of-the-tests"
/** The base of links; not where the server listens. */
export const BASE_URL = "http://posthorn.test"
/** The master key that seals secrets in tests. */
export const MASTER_KEY = Redacted.make(new Uint8Array(32).fill(7))

export interface Answer<Body> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The parsed body; `{}` when there is none. */
  readonly body: Body
}

export interface CallOptions {
  /** Default: none. */
  readonly token?: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent unchanged, as JSON unless a header says otherwise. */
  readonly text?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Any parsed answer, without types. */
export interface Loose {
  readonly [member: string]: unknown
  readonly id: string
  readonly items: ReadonlyArray<Loose>
  readonly nextCursor: string | null
  readonly _tag: string
}

export type Call = <Body = Loose>(
  method: string,
  path: string,
  options?: CallOptions
) => Effect.Effect<Answer<Body>>

/** A workspace, and calls below its path with its admin token. */
export interface Entered {
  readonly slug: string
  readonly workspaceId: string
  readonly token: string
  readonly call: Call
  /** A new token's text. */
  readonly tokenWith: (...scopes: ReadonlyArray<string>) => Effect.Effect<string>
}

export class TestServer extends Context.Tag("@posthorn/server/test/TestServer")<
  TestServer,
  {
    /** The server's address. */
    readonly url: string
    readonly call: Call
    readonly enter: Effect.Effect<Entered>
  }
>() {}

/** A new workspace for one test. */
export const entered = Effect.flatMap(TestServer, ({ enter }) => enter)

export interface TestServerOptions {
  /** Default: `OPERATOR_TOKEN`. */
  readonly operatorTokens?: ServerConfig["Type"]["operatorTokens"]
  readonly quotas?: Partial<Record<Bucket, Quota | null>>
  /** Default: 0. */
  readonly drainSeconds?: number
  readonly publicCatalogue?: boolean
  readonly trustedProxies?: ServerConfig["Type"]["trustedProxies"]
  readonly allowedTargets?: AllowedTargets
  /** Default: a new database, connected directly. */
  readonly database?: typeof TestPg
  /** Default: those of `serve`. */
  readonly limits?: Limits
  /** Default: counted in this process. */
  readonly counters?: Layer.Layer<RateCounters>
  /** For how long public key sets are kept. Default: 0. */
  readonly keySetsMs?: number
  /** Whether alerts by e-mail are taken. Default: no. */
  readonly sendsEmail?: boolean
  readonly workspaceLimits?: Partial<InstallationPolicy["Type"]["limits"]>
}

const callAt =
  (url: string): Call =>
  (method, path, { body, headers, text, token } = {}) =>
    Effect.promise(async () => {
      const sent = text ?? (body === undefined ? undefined : JSON.stringify(body))
      const response = await fetch(`${url}${path}`, {
        method,
        redirect: "manual",
        ...(sent === undefined ? {} : { body: sent }),
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(sent === undefined ? {} : { "content-type": "application/json" }),
          ...headers
        }
      })
      const received = await response.text()
      const isJson = /json/.test(response.headers.get("content-type") ?? "")
      return {
        status: response.status,
        headers: response.headers,
        text: received,
        body: isJson && received !== "" ? JSON.parse(received) : {}
      }
    })

let workspaces = 0

const enterBy = (call: Call) =>
  Effect.gen(function* () {
    const slug = `ws-${++workspaces}`
    const workspace = yield* call("POST", "/workspaces", {
      token: OPERATOR_TOKEN,
      body: { slug, name: `Workspace ${workspaces}` }
    })
    const tokenFor = (token: string, scopes: ReadonlyArray<string>) =>
      call<{ readonly token: string }>("POST", `/workspaces/${slug}/api-tokens`, {
        token,
        body: { name: scopes.join(" ").slice(0, 200), scopes }
      }).pipe(Effect.map((answer) => answer.body.token))
    const token = yield* tokenFor(OPERATOR_TOKEN, ["admin"])
    return {
      slug,
      token,
      workspaceId: workspace.body.id,
      call: (method, path, options) => call(method, `/workspaces/${slug}${path}`, { token, ...options }),
      tokenWith: (...scopes) => tokenFor(token, scopes)
    } satisfies Entered
  })

const noLimits = Object.fromEntries(Object.keys(defaultQuotas).map((bucket) => [bucket, null])) as Record<
  Bucket,
  null
>

const configOf = (options: TestServerOptions) =>
  Layer.succeed(ServerConfig, {
    host: "127.0.0.1",
    port: 0,
    baseUrl: BASE_URL,
    operatorTokens: options.operatorTokens ?? [{ name: null, token: Redacted.make(OPERATOR_TOKEN) }],
    quotas: { ...noLimits, ...options.quotas },
    drainSeconds: options.drainSeconds ?? 0,
    publicCatalogue: options.publicCatalogue ?? false,
    trustedProxies: options.trustedProxies ?? [],
    version: "0.0.0-test"
  })

const running = Layer.effect(
  TestServer,
  Effect.map(HttpServer.HttpServer, ({ address }) => {
    const url = `http://127.0.0.1:${address._tag === "TcpAddress" ? address.port : 0}`
    const call = callAt(url)
    return { url, call, enter: enterBy(call) }
  })
)

/** A second server on the same database, until the scope closes. */
export const anotherServer = (options: TestServerOptions = {}) =>
  Effect.gen(function* () {
    const database = Layer.succeedContext(yield* Effect.context<Layer.Layer.Success<typeof TestPg>>())
    return Context.get(yield* Layer.build(testServer({ ...options, database })), TestServer)
  })

/** The server, and the database it runs on. */
export const testServer = (options: TestServerOptions = {}) =>
  running.pipe(
    Layer.provide(serverLive),
    Layer.provide(options.counters ?? memoryLive),
    Layer.provide(configOf(options)),
    Layer.provide(
      options.limits === undefined ? Layer.empty : Layer.succeed(ConnectionLimits, options.limits)
    ),
    Layer.provide(
      Layer.succeed(InstallationPolicy, {
        outgoing: { proxy: null, userAgent: "Posthorn/0.0.0-test" },
        allowedTargets: options.allowedTargets ?? nothingAllowed,
        limits: { ...defaultLimits, ...options.workspaceLimits },
        requestTimeoutMs: 10_000,
        historyMs: 30 * 86_400_000,
        retryDelayMs: 30_000,
        sendsEmail: options.sendsEmail
      })
    ),
    Layer.provide(Layer.succeed(SecretBox.SecretBox, SecretBox.make([MASTER_KEY]))),
    Layer.provide(Layer.succeed(KeySetsChecked, { everyMs: options.keySetsMs ?? 0 })),
    Layer.provide(NodeContext.layer),
    Layer.provideMerge(options.database ?? TestPg),
    Layer.orDie
  )
