/**
 * The dispatcher: one HTTP POST to a receiver, as fast as possible and never trusting the receiver.
 *
 * Guarantees: an Observation for every send that got a look-up of its name, within `requestTimeoutMs + bodyTimeoutMs`; no redirect followed, no
 * cookie kept, no coding undone, no certificate accepted unverified, no address connected to that `refuses` names; a
 * connection that is kept alive is reused. Giving up a send closes its connection. Does not sign, judge, retry or
 * record, and bounds no concurrency: those are the caller's.
 *
 * Shape: undici's Client under connections and deadlines of our own; Receiver.ts makes an Effect of the callback. CPU per
 * signed POST (2026-11-21, Node 20, 500 bytes to one origin on loopback, 100 in flight): bare undici Pool.dispatch 19 us, this
 * 21; over kept-alive TLS 27, with a resumed handshake each 1,000. fetch costs 14 times Pool.dispatch, `@effect/platform`
 * HttpClient 12 times.
 *
 * Source: spec §4.1, §8, §3.4 ("Requests", "A stale kept-alive connection") and §2.8 (connect-time guard).
 */
import { createSecureContext } from "node:tls"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Clock } from "effect"
import { Connections } from "./Connections.ts"
import { type Done, Exchange, type Limits } from "./Exchange.ts"
import { Names, type Refuses, type Resolve } from "./Names.ts"
import { Origins } from "./Origins.ts"
import { systemNames } from "./SystemNames.ts"

export interface DispatchOptions {
  /** The value of the `user-agent` header, e.g. `Posthorn/0.1.0`. */
  readonly userAgent: string
  /** Which addresses nobody may connect to, judged at connect time. */
  readonly refuses: Refuses
  /** Over lookup, connect, TLS, request and the answer's head. Default 10,000. */
  readonly requestTimeoutMs?: number | undefined
  /** Over the answer's body. Default 2,000. */
  readonly bodyTimeoutMs?: number | undefined
  /** Default 2,048. */
  readonly bodyLimitBytes?: number | undefined
  /** Origins remembered, the least recently used goes first. Default 2,000. */
  readonly maxOrigins?: number | undefined
  /** Idle connections kept to one origin. Default 100. */
  readonly connectionsPerOrigin?: number | undefined
  /** Idle connections kept in all. Default 1,000. */
  readonly idleConnections?: number | undefined
  /** Measures durations. Default: the system's. */
  readonly clock?: Clock.Clock | undefined
  /** Certificate authorities to trust instead of Node's own, in PEM: for tests. */
  readonly ca?: string | ReadonlyArray<string> | undefined
  /** Name resolution: for tests. Default: the system's. */
  readonly resolve?: Resolve | undefined
}

export interface OutgoingRequest {
  readonly workspaceId: string
  /** Validated and serialised: anything that is not a URL is a defect. */
  readonly url: string
  /** In the order they are to be sent, after the fixed ones. */
  readonly headers: Readonly<Record<string, string>>
  /** The bytes that were signed. */
  readonly body: Uint8Array | string
}

export interface Dispatcher {
  /** Calls `done` once, later, with null only after `close`. Returns the way to give up without `done` being called. */
  readonly send: (request: OutgoingRequest, done: Done) => () => void
  /** What every request carries besides its own headers, `host` and `content-length`: part of the evidence. */
  readonly fixedHeaders: Readonly<Record<string, string>>
  readonly connections: () => { readonly open: number; readonly idle: number }
  readonly close: () => void
}

export const open = (options: DispatchOptions): Dispatcher => {
  const limits: Limits = {
    requestTimeoutMs: options.requestTimeoutMs ?? 10_000,
    bodyTimeoutMs: options.bodyTimeoutMs ?? 2_000,
    bodyLimitBytes: options.bodyLimitBytes ?? 2_048
  }
  const clock = options.clock ?? Clock.make()
  const now = () => elapsed(clock)
  const { refuses, resolve = systemNames() } = options
  const names = new Names({ refuses, resolve, now })
  const connections = new Connections(
    { perOrigin: options.connectionsPerOrigin ?? 100, inAll: options.idleConnections ?? 1_000 },
    { refuses, names, secureContext: secureContext(options.ca), now }
  )
  const origins = new Origins(options.maxOrigins ?? 2_000, (origin) => connections.closeIdle(origin))
  const fixedHeaders = {
    "content-type": "application/json",
    "user-agent": options.userAgent,
    "accept-encoding": "identity"
  }
  const fixed = Object.entries(fixedHeaders).flat()
  return {
    fixedHeaders,
    connections: () => connections.counts,
    close: () => connections.close(),
    send: ({ workspaceId, url, headers, body }, done) => {
      if (connections.closed) {
        queueMicrotask(() => done(null))
        return () => undefined
      }
      const { origin, path } = origins.target(url)
      const line = fixed.slice()
      for (const name in headers) line.push(name, headers[name]!)
      const bytes = typeof body === "string" ? Buffer.from(body) : body
      const exchange = new Exchange(
        connections,
        limits,
        origin,
        workspaceId,
        { method: "POST", path, headers: line, body: bytes },
        done
      )
      return () => exchange.cancel()
    }
  }
}

/** Made once: with authorities of its own, a context costs milliseconds. */
const secureContext = (ca: DispatchOptions["ca"]) =>
  createSecureContext(ca === undefined ? {} : { ca: typeof ca === "string" ? ca : [...ca] })
