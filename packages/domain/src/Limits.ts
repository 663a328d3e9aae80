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
}

export const defaultLimits: Limits = { endpoints: 500, tokens: 1_000, fanOut: 20_000 }
