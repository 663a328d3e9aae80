/**
 * Limits of one connection, and of all connections together. Tests set smaller ones.
 *
 * At the limit of connections, a new one is closed at once: otherwise file descriptors would run out, and the database could no
 * longer be reached either. A client may write requests before it has their answers; beyond the limits of requests, nothing more
 * is made of what it sends until answers have been sent (see `Pipelining.ts`).
 */
import { CONNECTIONS_PER_ADDRESS } from "@posthorn/domain/Limits"
import { Context } from "effect"

export interface Limits {
  /** Deadline for a request's headers, from its first byte, or from connecting. Defaults to 10,000. */
  readonly headersMs: number
  /** Deadline for a request's body, from the end of its headers. Defaults to 30,000. */
  readonly bodyMs: number
  /** Most connections. Defaults to 4,096. */
  readonly connections: number
  /** Most connections of one address. Defaults to 1,024. */
  readonly connectionsPerAddress: number
  /** Most requests of one connection under way. Defaults to 64. */
  readonly requestsAtOnce: number
  /** Most requests of all connections under way. Defaults to 2,048. */
  readonly requests: number
  /** Most bytes held for bodies at once. Defaults to 64 MiB. */
  readonly bodyBytes: number
  /** An answer that makes no progress for this long is cut off. Defaults to 30,000. */
  readonly stalledMs: number
}

export const defaultConnectionLimits: Limits = {
  headersMs: 10_000,
  bodyMs: 30_000,
  connections: 4_096,
  connectionsPerAddress: CONNECTIONS_PER_ADDRESS,
  requestsAtOnce: 64,
  requests: 2_048,
  bodyBytes: 67_108_864,
  stalledMs: 30_000
}

export class ConnectionLimits extends Context.Reference<ConnectionLimits>()(
  "@posthorn/server/ConnectionLimits",
  { defaultValue: () => defaultConnectionLimits }
) {}
