/** Expands runs (`posthorn.waiting`) into due deliveries, each endpoint's in the order in which its lane sends them. */
import type { DeliveryId, EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { Schema } from "effect"
import { Count, Id } from "../../client/internal/Columns.ts"
import type { RowOf } from "../../client/PreparedStatements.ts"
import { type DatabaseMicros, databaseMicros } from "../DatabaseMicros.ts"

export interface LaneRef {
  readonly workspaceId: WorkspaceId
  readonly endpointId: EndpointId
}

export interface DueRow {
  readonly workspaceId: WorkspaceId
  readonly deliveryId: DeliveryId
  readonly endpointId: EndpointId
  readonly shard: number
  readonly due: DatabaseMicros
  readonly attempts: number
  readonly claims: number
  readonly atOnce: boolean
}

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

/** Deliveries of a run share their ids. Sorted only where an endpoint has several runs. */
export const dueRows = (runs: ReadonlyArray<Runs>): ReadonlyArray<DueRow> => {
  const rows: Array<DueRow> = []
  const endpoints = new Set<string>()
  for (const run of runs) {
    const [workspaceId, endpointId, shard, attempts, claims, atOnce, ids, times] = run
    endpoints.add(endpointId)
    const dues = times.split(",")
    const deliveryIds = ids.split(",")
    for (let n = 0; n < dues.length; n++) {
      const due = databaseMicros(Number(dues[n]))
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
