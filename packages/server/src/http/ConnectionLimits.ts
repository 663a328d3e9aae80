/**
 * What one connection, and all of them together, may take up. Tests set smaller ones.
 *
 * Connections: with none to spare a new one is closed at once, before file descriptors run out and the database can no
 * longer be reached either. Requests at once: a client may write the next request before it has its answer; beyond this
 * many nothing more is read from it until answers have gone out (see `Pipelining.ts`).
 */
import { CONNECTIONS_PER_ADDRESS } from "@posthorn/domain/Limits"
import { Context } from "effect"

export interface Limits {
  /** From the first byte, or the connection, to the end of the headers. */
  readonly headersMs: number
  /** From there to the end of the body. */
  readonly bodyMs: number
  readonly connections: number
  /** Of one address. */
  readonly connectionsPerAddress: number
  readonly requestsAtOnce: number
  /** Held for bodies at once. */
  readonly bodyBytes: number
  /** An answer that makes no progress for so long is cut off. */
  readonly stalledMs: number
}

export const defaultConnectionLimits: Limits = {
  headersMs: 10_000,
  bodyMs: 30_000,
  connections: 4_096,
  connectionsPerAddress: CONNECTIONS_PER_ADDRESS,
  requestsAtOnce: 64,
  bodyBytes: 67_108_864,
  stalledMs: 30_000
}

export class ConnectionLimits extends Context.Reference<ConnectionLimits>()(
  "@posthorn/server/ConnectionLimits",
  { defaultValue: () => defaultConnectionLimits }
) {}
