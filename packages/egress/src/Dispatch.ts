/**
 * The dispatcher: one HTTP POST to a receiver, as fast as possible and never trusting the receiver.
 *
 * Guarantees: every send ends in an Observation within `requestTimeoutMs + bodyTimeoutMs`, or in `no_turn` if it got no turn
 * for its name look-up. It follows no redirect, keeps no cookie, decodes no content coding, accepts no unverified certificate,
 * and connects to no address that `refuses` names. Kept-alive connections are reused. Giving up a send closes its connection.
 * Signing, judging, retrying, recording and limiting concurrency are the caller's.
 *
 * Shape: undici's Client under connections and deadlines of our own; Receiver.ts makes an Effect of the callback. CPU per
 * signed POST (2026-11-21, Node 20, 500 bytes to one origin on loopback, 100 in flight): bare undici Pool.dispatch 19 us, this
 * 21; over kept-alive TLS 27, with a resumed handshake each 1,000. fetch costs 14 times Pool.dispatch, `@effect/platform`
 * HttpClient 12 times.
 *
 * Source: spec §4.1, §8, §3.4 and §2.8 (connect-time guard).
 */
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Clock, Redacted } from "effect"
import { AddressRace } from "./AddressRace.ts"
import { BODY_LIMIT_BYTES } from "./BodyPrefix.ts"
import { Connections } from "./Connections.ts"
import { type Done, Exchange, type Limits } from "./Exchange.ts"
import { HANDSHAKE_TURN_MS, HANDSHAKES, secureContextOf } from "./Handshake.ts"
import { Names, type Refuses, type Resolve } from "./Names.ts"
import { type ClientIdentity, Origins } from "./Origins.ts"
import type { Proxy } from "./Proxy.ts"
import { systemNames } from "./SystemNames.ts"
import { Tunnels } from "./Tunnels.ts"
import { Turns } from "./Turns.ts"

export interface DispatchOptions {
  /** The `user-agent` header, such as `Posthorn/0.1.0`. */
  readonly userAgent: string
  /** Which addresses must not be connected to; called at connect time. */
  readonly refuses: Refuses
  /** Deadline for name look-up, connect, TLS, request and the answer's head. Defaults to 10,000. */
  readonly requestTimeoutMs?: number | undefined
  /** Deadline for the answer's body. Defaults to 2,000. */
  readonly bodyTimeoutMs?: number | undefined
  /** Most bytes of the answer's body that are kept. Defaults to `BODY_LIMIT_BYTES`. */
  readonly bodyLimitBytes?: number | undefined
  /** Most origins remembered; the least recently used is forgotten first. Defaults to 2,000. */
  readonly maxOrigins?: number | undefined
  /** Most idle connections to one origin. Defaults to 100. */
  readonly connectionsPerOrigin?: number | undefined
  /** Most idle connections in all. Defaults to 1,000. */
  readonly idleConnections?: number | undefined
  /** Measures durations. Defaults to the system's clock. */
  readonly clock?: Clock.Clock | undefined
  /** Certificate authorities to trust instead of Node's own, in PEM: for tests. */
  readonly ca?: string | ReadonlyArray<string> | undefined
  /** Through which all connections go; null for none. */
  readonly proxy?: Proxy | null | undefined
  /** Name resolution, for tests. Defaults to the system's. */
  readonly resolve?: Resolve | undefined
}

export interface OutgoingRequest {
  readonly workspaceId: string
  /** Validated and serialised. Anything that is not a URL is a defect. */
  readonly url: string
  /** In the order in which they are sent, after the fixed ones, of which they replace those of the same spelling. */
  readonly headers: Readonly<Record<string, string>>
  /** The bytes that were signed. */
  readonly body: Uint8Array | string
  /** In place of the dispatcher's. */
  readonly requestTimeoutMs?: number
  /** Shown in the TLS handshake. One that cannot be used is a defect. */
  readonly client?: ClientIdentity | undefined
}

export interface Dispatcher {
  /**
   * Calls `done` once, asynchronously; with null only after `close`. The returned function gives the send up: then `done` is
   * not called.
   */
  readonly send: (request: OutgoingRequest, done: Done) => () => void
  /** Headers of every request besides its own, `host` and `content-length`. They are part of the evidence. */
  readonly fixedHeaders: Readonly<Record<string, string>>
  readonly connections: () => { readonly open: number; readonly idle: number }
  readonly close: () => void
}

export const open = (options: DispatchOptions): Dispatcher => {
  const defaultTimeoutMs = options.requestTimeoutMs ?? 10_000
  const limits: Limits = {
    bodyTimeoutMs: options.bodyTimeoutMs ?? 2_000,
    bodyLimitBytes: options.bodyLimitBytes ?? BODY_LIMIT_BYTES
  }
  const clock = options.clock ?? Clock.make()
  const now = () => elapsed(clock)
  const { proxy = null, refuses, resolve = systemNames() } = options
  const names = new Names({ refuses, resolve, now })
  // The operator chose the proxy, so its address may be any.
  const proxyNames = new Names({ refuses: () => false, resolve, now })
  const race = new AddressRace(now)
  const authorities = authoritiesOf(options.ca)
  const connections = new Connections(
    { perOrigin: options.connectionsPerOrigin ?? 100, inAll: options.idleConnections ?? 1_000 },
    {
      refuses,
      names,
      secureContext: secureContextOf(authorities),
      handshakes: new Turns(HANDSHAKES, HANDSHAKE_TURN_MS),
      race,
      tunnels: proxy && new Tunnels(proxy, proxyNames.lookup("", proxy.port), race),
      now
    }
  )
  const origins = new Origins(
    options.maxOrigins ?? 2_000,
    (origin) => connections.closeIdle(origin),
    ({ certificate, privateKey }) =>
      secureContextOf({ ...authorities, cert: certificate, key: Redacted.value(privateKey) })
  )
  const fixedHeaders = {
    "content-type": "application/json",
    "user-agent": options.userAgent,
    "accept-encoding": "identity"
  }
  const fixed = Object.entries(fixedHeaders)
  return {
    fixedHeaders,
    connections: () => connections.counts,
    close: () => connections.close(),
    send: ({ workspaceId, url, headers, body, client, requestTimeoutMs = defaultTimeoutMs }, done) => {
      if (connections.closed) {
        queueMicrotask(() => done(null))
        return () => undefined
      }
      const { origin, path } = origins.target(url, client)
      const line: Array<string> = []
      for (const [name, value] of fixed) if (!(name in headers)) line.push(name, value)
      for (const name in headers) line.push(name, headers[name]!)
      const bytes = typeof body === "string" ? Buffer.from(body) : body
      const exchange = new Exchange(
        connections,
        limits,
        origin,
        workspaceId,
        requestTimeoutMs,
        { method: "POST", path, headers: line, body: bytes },
        done
      )
      return () => exchange.cancel()
    }
  }
}

const authoritiesOf = (ca: DispatchOptions["ca"]) =>
  ca === undefined ? {} : { ca: typeof ca === "string" ? ca : [...ca] }
