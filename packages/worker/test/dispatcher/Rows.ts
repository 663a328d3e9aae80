/** Due rows for tests of the dispatcher: each becomes due after the ones made before it. */
import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { DueRow } from "@posthorn/persistence/engine/Queue"

let made = 0

export const rows = (endpointId: string, count: number, more: Partial<DueRow> = {}): ReadonlyArray<DueRow> =>
  Array.from({ length: count }, () => ({
    workspaceId: "wsp_1",
    deliveryId: `whd_${++made}`,
    endpointId,
    shard: 0,
    due: databaseMicros(made),
    attempts: 0,
    claims: 0,
    atOnce: false,
    ...more
  }))
