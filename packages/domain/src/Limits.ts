/**
 * Limits of one workspace, so that one customer's mistake or malice affects no other. An installation may set other numbers.
 * Source: spec §5.2.
 */
export interface Limits {
  /** Most endpoints of a workspace, including disabled ones. Defaults to 500. */
  readonly endpoints: number
  /** Most tokens of a workspace that are neither revoked nor expired. Defaults to 1,000. */
  readonly tokens: number
  /** Most deliveries that one publish or batch may make. Defaults to 20,000. */
  readonly fanOut: number
  /** Most waiting deliveries, including retries and those of disabled endpoints; null is no limit. Defaults to 1,000,000. */
  readonly waiting: number | null
  /** Most bytes of stored payloads; null is no limit. Defaults to null. */
  readonly bytes: number | null
}

export const defaultLimits: Limits = {
  endpoints: 500,
  tokens: 1_000,
  fanOut: 20_000,
  waiting: 1_000_000,
  bytes: null
}

/** Most connections of one address at one server. */
export const CONNECTIONS_PER_ADDRESS = 1_024
