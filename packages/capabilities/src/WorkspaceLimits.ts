/**
 * How much one workspace may take up, as this installation is configured: so that one customer's mistake or malice stays
 * with that customer. Source: decision §10 (Limits).
 */
import { Context } from "effect"

interface Values {
  /** Endpoints of a workspace, disabled ones included. */
  readonly endpoints: number
  /** Tokens of a workspace that are neither revoked nor expired. */
  readonly tokens: number
  /** Deliveries that one publish or batch may make. */
  readonly fanOut: number
}

export const defaultLimits: Values = { endpoints: 500, tokens: 1_000, fanOut: 20_000 }

export class WorkspaceLimits extends Context.Reference<WorkspaceLimits>()(
  "@posthorn/capabilities/WorkspaceLimits",
  {
    defaultValue: (): Values => defaultLimits
  }
) {}
