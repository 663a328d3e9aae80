/**
 * A world in which the only fault is that all receivers of six workspaces hang: more of them than there are slots, with enough
 * waiting for each. The seventh workspace sends a delivery now and then.
 */
import type { Model } from "./Model.ts"
import type { Chance, VirtualTime } from "./VirtualTime.ts"

const HANGING = 40
const WORKSPACES = 6
const EACH = 8
const CROWD_AT_MS = 3_500
const QUIET_FROM_MS = 4_500
const QUIET = 30
const BETWEEN_MS = 500

/**
 * The time within which a delivery of the quiet workspace must be sent after its commit: one notification, two statements,
 * its own delivery before it. Much less than a request to a hanging receiver takes.
 */
export const FAIR_MS = 1_000

interface Member {
  readonly endpoint: number
  readonly workspaceId: string
  readonly manner: string
}

const quiet: Member = { endpoint: HANGING, workspaceId: "wsp_quiet", manner: "ok" }

export const members: ReadonlyArray<Member> = [
  ...Array.from({ length: HANGING }, (_, endpoint) => ({
    endpoint,
    workspaceId: `wsp_crowd_${endpoint % WORKSPACES}`,
    manner: "hang"
  })),
  quiet
]

export interface Crowding {
  readonly time: VirtualTime
  readonly chance: Chance
  readonly model: Model
  readonly idOf: (endpoint: number) => string
  readonly notify: (since: number, shard: number) => void
  /** Called when a delivery of the quiet workspace was committed. */
  readonly committed: (deliveryId: string) => void
}

export const planCrowd = ({ chance, committed, idOf, model, notify, time }: Crowding): void => {
  const publish = (deliveryId: string, endpoint: number) => {
    const { shard } = model.endpoints.get(idOf(endpoint))!
    const asleep = model.begin(deliveryId, shard)
    model.publish(idOf(endpoint), deliveryId, time.now)
    model.open.delete(deliveryId)
    if (asleep) notify(time.now * 1000, shard)
  }
  time.after(CROWD_AT_MS, () => {
    for (let n = 0; n < HANGING * EACH; n++) publish(`whd_crowd_${String(n).padStart(4, "0")}`, n % HANGING)
  })
  for (let n = 0; n < QUIET; n++) {
    time.after(QUIET_FROM_MS + n * BETWEEN_MS + chance.between(0, BETWEEN_MS / 4), () => {
      const deliveryId = `whd_quiet_${String(n).padStart(4, "0")}`
      publish(deliveryId, quiet.endpoint)
      committed(deliveryId)
    })
  }
}
