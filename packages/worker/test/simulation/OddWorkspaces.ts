/**
 * Worlds in which only some workspaces are odd, and quiet ones send a delivery now and then.
 *
 * - `hanging`: all receivers of six workspaces hang: more of them than there are slots, with enough waiting for each.
 * - `joining`: in each shard one receiver answers after a time longer than a worker waits for it, and one endpoint's row is
 *   locked by somebody, while a second worker joins.
 * - `disabled`: something waits at hundreds of endpoints that are disabled, and are enabled at the end.
 */
import { type DatabaseMicros, databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import { SHARDS } from "./Facts.ts"
import type { Model } from "./Model.ts"
import type { Chance, VirtualTime } from "./VirtualTime.ts"

const ODD_AT_MS = 3_500
const QUIET_FROM_MS = 4_500
const QUIET_FOR_MS = 15_000

interface Member {
  readonly endpoint: number
  readonly workspaceId: string
  readonly manner: string
}

export interface OddWorkspaces {
  readonly odd: ReadonlyArray<Member>
  /** Deliveries to each of them. */
  readonly each: number
  readonly quiet: ReadonlyArray<Member>
  /** Deliveries to quiet members, in turn. */
  readonly count: number
  /** The time within which a delivery of a quiet member must be sent after its commit. */
  readonly fairMs: number
  /** When the second worker comes. */
  readonly joinsAtMs?: number
  /** The rows of odd members whose manner is `locked` are locked from their publish on, for so long. */
  readonly lockedMs?: number
}

const members = (count: number, from: number, workspaceOf: (n: number) => string, manner: string) =>
  Array.from({ length: count }, (_, n) => ({ endpoint: from + n, workspaceId: workspaceOf(n), manner }))

const HANGING = 40
const DISABLED = 600

export const oddWorkspaces: Readonly<Record<"hanging" | "joining" | "disabled", OddWorkspaces>> = {
  hanging: {
    odd: members(HANGING, 0, (n) => `wsp_odd_${n % 6}`, "hang"),
    each: 8,
    quiet: members(1, HANGING, () => "wsp_quiet", "ok"),
    count: 30,
    // One notification, two statements, its own delivery before it.
    fairMs: 1_000
  },
  joining: {
    odd: [
      ...members(SHARDS, 0, (n) => `wsp_long_${n}`, "long"),
      ...members(SHARDS, SHARDS, (n) => `wsp_locked_${n}`, "locked")
    ],
    each: 3,
    quiet: members(SHARDS, 2 * SHARDS, (n) => `wsp_quiet_${n}`, "ok"),
    count: 60,
    fairMs: 2_000,
    joinsAtMs: 6_000,
    lockedMs: 20_000
  },
  disabled: {
    odd: members(DISABLED, 0, (n) => `wsp_odd_${n % 6}`, "disabled"),
    each: 1,
    quiet: members(SHARDS, DISABLED, (n) => `wsp_quiet_${n}`, "ok"),
    count: 60,
    fairMs: 500
  }
}

interface OddPlan {
  readonly time: VirtualTime
  readonly chance: Chance
  readonly model: Model
  readonly idOf: (endpoint: number) => string
  readonly notify: (since: DatabaseMicros, shard: number) => void
  /** Called when a delivery of a quiet member was committed. */
  readonly committed: (deliveryId: string) => void
  readonly lock: (endpointId: string, milliseconds: number) => void
}

export const planOdd = (
  { count, each, lockedMs = 0, odd, quiet }: OddWorkspaces,
  { chance, committed, idOf, lock, model, notify, time }: OddPlan
): void => {
  const publish = (deliveryId: string, { endpoint }: Member) => {
    const { shard } = model.endpoints.get(idOf(endpoint))!
    const asleep = model.begin(deliveryId, shard)
    model.publish(idOf(endpoint), deliveryId, time.now)
    model.open.delete(deliveryId)
    if (asleep) notify(databaseMicros(time.now * 1000), shard)
  }
  const of = <A>(all: ReadonlyArray<A>, n: number) => all[n % all.length]!
  time.after(ODD_AT_MS, () => {
    for (const member of odd) if (member.manner === "locked") lock(idOf(member.endpoint), lockedMs)
    for (let n = 0; n < odd.length * each; n++) publish(`whd_odd_${String(n).padStart(4, "0")}`, of(odd, n))
    for (const { endpoint, manner } of odd)
      if (manner === "disabled") model.disable(model.endpoints.get(idOf(endpoint))!)
  })
  const between = QUIET_FOR_MS / count
  for (let n = 0; n < count; n++) {
    time.after(QUIET_FROM_MS + n * between + chance.between(0, between / 4), () => {
      const deliveryId = `whd_quiet_${String(n).padStart(4, "0")}`
      publish(deliveryId, of(quiet, n))
      committed(deliveryId)
    })
  }
}
