/**
 * Rows of the queue as a worker gets them: PostgreSQL gathers the rows of one endpoint into runs (`posthorn.waiting`), and this
 * file turns each run back into deliveries. Each endpoint's rows come in the order in which its lane takes them.
 */
import type { DeliveryId, EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { Schema } from "effect"
import { Count, Id } from "../../client/internal/Columns.ts"
import type { RowOf } from "../../client/Prepared.ts"

export interface LaneRef {
  readonly workspaceId: WorkspaceId
  readonly endpointId: EndpointId
}

/** A due delivery. */
export interface DueRow {
  readonly workspaceId: WorkspaceId
  readonly deliveryId: DeliveryId
  readonly endpointId: EndpointId
  readonly shard: number
  readonly due: number
  /** Attempts recorded so far; the next ordinal is one more. */
  readonly attempts: number
  /** Stored claims in a row without an observation. */
  readonly claims: number
  /** It goes out although its lane pauses: the first attempt of a test send. */
  readonly atOnce: boolean
}

/** `posthorn.waiting`. */
export const RUN = [
  ["workspace_id", Id("workspace")],
  ["endpoint_id", Id("endpoint")],
  ["shard", Count],
  ["attempts", Count],
  ["claims", Count],
  ["at_once", Schema.Boolean],
  ["delivery_ids", Schema.String],
  ["dues", Schema.String]
] as const
export type Runs = RowOf<typeof RUN>

const byDue = (a: DueRow, b: DueRow) =>
  a.due - b.due || (a.deliveryId < b.deliveryId ? -1 : a.deliveryId > b.deliveryId ? 1 : 0)

/**
 * One object for each delivery; deliveries of one endpoint share its strings. They are sorted by due time for each endpoint:
 * they come sorted, except for an endpoint with several runs.
 */
export const dueRows = (runs: ReadonlyArray<Runs>): ReadonlyArray<DueRow> => {
  const rows: Array<DueRow> = []
  const endpoints = new Set<string>()
  for (const run of runs) {
    const [workspaceId, endpointId, shard, attempts, claims, atOnce, ids, times] = run
    endpoints.add(endpointId)
    const dues = times.split(",")
    const deliveryIds = ids.split(",")
    for (let n = 0; n < dues.length; n++) {
      const due = Number(dues[n])
      rows.push({
        workspaceId,
        deliveryId: deliveryIds[n]!,
        endpointId,
        shard,
        due,
        attempts,
        claims,
        atOnce
      })
    }
  }
  return endpoints.size === runs.length ? rows : rows.sort(byDue)
}
