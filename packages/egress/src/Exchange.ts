/**
 * One request and what comes back, from the first lookup to the last byte that is read. Never trusts the receiver.
 *
 *   connecting ─► request sent ─► head ─► body ─► settled
 *   └──────── requestTimeoutMs ──────┘└─ bodyTimeoutMs ─┘      both absolute: no byte of the receiver extends them
 *
 * Guarantees:
 * - It settles exactly once, unless cancelled.
 * - It settles within both deadlines. If this process itself has stalled, everything that arrived meanwhile is processed first.
 * - It holds at most `bodyLimitBytes` and one more read in memory.
 * - The status alone decides. If the body ends early it is null; at the limit, the prefix is kept.
 * - If the body was not read to its end, the connection is closed. A body whose rest arrived in the same read as the prefix
 *   counts as read: so a slightly longer body does not cost the next send a handshake.
 *
 * If a reset cuts a body without a length short, and is found together with the body's last bytes, Node reports an orderly end.
 * Then the body is kept as far as it came.
 *
 * A kept-alive connection that ends before any byte of an answer was probably closed by the receiver while idle. In that case
 * the request is sent again, once, on a fresh connection and within the same deadline (spec §3.4). It may arrive twice, as any
 * delivery may (spec §6).
 *
 * Implements undici's first handler interface: the newer one parses all of every answer's headers.
 */
import type { FailureDetail } from "@posthorn/domain/Verdict"
import type { Dispatcher } from "undici"
import { storedBody } from "./BodyPrefix.ts"
import type { Connection, ConnectionUser } from "./Connection.ts"
import type { Connections } from "./Connections.ts"
import { detailOf, isParserError, whileWaiting } from "./FailureReasons.ts"
import { keptHeaders } from "./KeptHeaders.ts"
import type { NoTurn, Observation, TransportFailure } from "./Observation.ts"
import type { Origin } from "./Origins.ts"

export interface Limits {
  readonly bodyTimeoutMs: number
  readonly bodyLimitBytes: number
}

/** Called once, with the observation, or with null when the dispatcher closed before there was one. */
export type Done = (observation: Observation | NoTurn | null) => void

export class Exchange implements ConnectionUser {
  readonly workspaceId: string
  private readonly startedAt: number
  private readonly connections: Connections
  private readonly limits: Limits
  private readonly origin: Origin
  private readonly options: Dispatcher.DispatchOptions
  private readonly done: Done
  private connection: Connection
  private timer: NodeJS.Timeout
  /** The final status, once its head is complete. */
  private status: number | null = null
  private responseHeaders: string | undefined
  private chunks: Array<Buffer> = []
  private size = 0
  private settled = false
  private complete = false

  constructor(
    connections: Connections,
    limits: Limits,
    origin: Origin,
    workspaceId: string,
    requestTimeoutMs: number,
    options: Dispatcher.DispatchOptions,
    done: Done
  ) {
    this.connections = connections
    this.limits = limits
    this.origin = origin
    this.workspaceId = workspaceId
    this.options = options
    this.done = done
    this.startedAt = connections.now()
    this.timer = setTimeout(late, requestTimeoutMs, this)
    this.connection = connections.take(origin)
    this.connection.dispatch(options, this)
  }

  get deadline(): NodeJS.Timeout {
    return this.timer
  }

  /** Gives up without an observation. */
  cancel(): void {
    if (this.settled) return
    this.settled = true
    clearTimeout(this.timer)
    this.connections.drop(this.connection)
  }

  /** `timer` has run out. Meanwhile the answer may have ended, or its head may have arrived and started the other deadline. */
  onDeadline(timer: NodeJS.Timeout): void {
    if (this.settled || this.timer !== timer) return
    const { alive, lateness } = this.connection
    if (this.status !== null) this.settle(null)
    else this.fail(lateness, lateness === "request_timeout" && !alive ? "connect_timeout" : undefined)
  }

  onConnect(): void {}

  onHeaders(status: number, headers: ReadonlyArray<Buffer>): boolean {
    if (this.settled) return true
    // InterimAnswers removes 1xx answers. Any that remains is 101, which ends HTTP, or malformed.
    if (status < 200 || status > 599) {
      this.fail("invalid_response")
      return true
    }
    this.status = status
    this.responseHeaders = keptHeaders(headers)
    clearTimeout(this.timer)
    this.timer = setTimeout(late, this.limits.bodyTimeoutMs, this)
    return true
  }

  onData(chunk: Buffer): boolean {
    if (this.settled) return true
    this.chunks.push(chunk)
    this.size += chunk.length
    if (this.size >= this.limits.bodyLimitBytes) this.settle(this.prefix())
    return true
  }

  onComplete(): void {
    this.complete = true
    if (!this.settled) this.settle(this.connection.broken === null ? this.prefix() : null)
  }

  onError(error: Error): void {
    if (this.settled) return
    // undici reports the last of several errors. The cause is the first, such as a TLS alert before the end.
    const { broken, failure, answers } = this.connection
    const cause = broken ?? error
    if (this.connections.closed) this.abandon(null)
    else if (failure === "no_turn") this.abandon(failure)
    else if (this.status !== null) this.settle(null)
    else if (this.stale(cause)) this.resend()
    else {
      const reason = failure ?? whileWaiting(cause, answers.received > 0)
      this.fail(reason, detailOf(reason, cause))
    }
  }

  flooded(): void {
    if (this.settled) this.connections.drop(this.connection)
    else if (this.status === null) this.fail("invalid_response")
    else this.settle(null)
  }

  private prefix(): string {
    return storedBody(this.chunks, this.limits.bodyLimitBytes)
  }

  private stale(cause: Error): boolean {
    const { used, answers, failure } = this.connection
    return used && failure === null && answers.received === 0 && !isParserError(cause)
  }

  /** This happens at most once: a connection that was just opened is not `used`. */
  private resend(): void {
    this.connections.drop(this.connection)
    this.connection = this.connections.open(this.origin)
    this.connection.dispatch(this.options, this)
  }

  private fail(reason: TransportFailure, detail?: FailureDetail): void {
    this.finish({
      durationMs: this.elapsed(),
      httpStatus: null,
      failureReason: reason,
      failureDetail: detail,
      responseBody: null
    })
  }

  private settle(responseBody: string | null): void {
    this.finish({
      durationMs: this.elapsed(),
      httpStatus: this.status,
      failureReason: null,
      responseBody,
      responseHeaders: this.responseHeaders
    })
  }

  private abandon(why: NoTurn | null): void {
    this.cancel()
    this.done(why)
  }

  private finish(observation: Observation): void {
    this.settled = true
    clearTimeout(this.timer)
    // Whether the connection can be kept is known only after the parser has processed the current read.
    queueMicrotask(() => {
      if (this.complete && observation.httpStatus !== null) this.connections.release(this.connection)
      else this.connections.drop(this.connection)
      this.done(observation)
    })
  }

  private elapsed(): number {
    return Math.round(this.connections.now() - this.startedAt)
  }
}

/**
 * One function for all timers: no closure per request. After a stall Node runs timers first, then I/O callbacks, then this
 * immediate.
 */
const late = (exchange: Exchange): void => {
  setImmediate(expire, exchange, exchange.deadline)
}
const expire = (exchange: Exchange, deadline: NodeJS.Timeout): void => exchange.onDeadline(deadline)
