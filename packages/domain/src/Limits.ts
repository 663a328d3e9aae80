/**
 * How much one workspace may take up: so that one customer's mistake or malice stays with that customer. An installation
 * may set other numbers. Source: spec §5.2.
 */
export interface Limits {
  /** Endpoints of a workspace, disabled ones included. */
  readonly endpoints: number
  /** Tokens of a workspace that are neither revoked nor expired. */
  readonly tokens: number
  /** Deliveries that one publish or batch may make. */
  readonly fanOut: number
  /** Deliveries that wait, retries and those of disabled endpoints included; null is no limit. */
  readonly waiting: number | null
  /** Bytes of payloads that are kept; null is no limit. */
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
