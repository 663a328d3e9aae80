/**
 * What a database notification says. Any role can notify, so each part is checked. A payload that cannot be read may come from
 * another version of Posthorn. It is taken to mean that anything may be due.
 */
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { type DatabaseMicros, databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import type { LaneKey } from "../dispatcher/Lane.ts"

export type DatabaseNotification =
  | { readonly kind: "anything" }
  | { readonly kind: "due"; readonly since: DatabaseMicros; readonly shards: ReadonlyArray<number> }
  | { readonly kind: "published"; readonly row: DueRow }
  /** After `failures` attempts in a row that failed. */
  | {
      readonly kind: "endpointChanged"
      readonly endpointId: EndpointId
      readonly failures: number
      readonly shard: number
    }
  /** The endpoint was enabled, or has another secret or request profile. */
  | { readonly kind: "usable"; readonly endpoint: LaneKey }
  | { readonly kind: "policy"; readonly workspaceId: WorkspaceId }

const TAIL = "[0-9a-f]{29}"
const DUE = /^(\d{1,16}) (\d{1,2}(?:,\d{1,2})*)$/
const PUBLISHED = new RegExp(`^(\\d{1,16}) (\\d{1,2}) (wsp_${TAIL}) (whe_${TAIL}) (whd_${TAIL})$`)
const ENDPOINT = new RegExp(`^endpoint (whe_${TAIL}) (\\d{1,9}) (\\d{1,2})$`)
const USABLE = new RegExp(`^usable (wsp_${TAIL}) (whe_${TAIL}) (\\d{1,2})$`)
const POLICY = new RegExp(`^policy (wsp_${TAIL})$`)

export const notificationOf = (payload: string): DatabaseNotification => {
  const due = DUE.exec(payload)
  if (due !== null)
    return { kind: "due", since: databaseMicros(Number(due[1])), shards: due[2]!.split(",").map(Number) }
  const published = PUBLISHED.exec(payload)
  if (published !== null) {
    const [since, shard] = [databaseMicros(Number(published[1])), Number(published[2])]
    const ids = { workspaceId: published[3]!, endpointId: published[4]!, deliveryId: published[5]! }
    return { kind: "published", row: { ...ids, shard, due: since, attempts: 0, claims: 0, atOnce: false } }
  }
  const changed = ENDPOINT.exec(payload)
  if (changed !== null)
    return {
      kind: "endpointChanged",
      endpointId: changed[1]!,
      failures: Number(changed[2]),
      shard: Number(changed[3])
    }
  const usable = USABLE.exec(payload)
  if (usable !== null)
    return {
      kind: "usable",
      endpoint: { workspaceId: usable[1]!, endpointId: usable[2]!, shard: Number(usable[3]) }
    }
  const policy = POLICY.exec(payload)
  return policy === null ? { kind: "anything" } : { kind: "policy", workspaceId: policy[1]! }
}
