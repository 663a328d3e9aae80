/** Who publishes in a world: half of it in one burst, a fifth of it in transactions that take their time to commit. */
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import type { Model } from "./Model.ts"
import type { Chance, VirtualTime } from "./VirtualTime.ts"

/** The longest time until a publisher commits. */
export const LATEST_COMMIT_MS = 8_000

const BURST_AT_MS = 5_000
/** Every nth is a test send. */
const TEST_EACH = 17

export interface Publishing {
  readonly time: VirtualTime
  readonly chance: Chance
  readonly model: Model
  /** All of them begin within this many milliseconds. */
  readonly within: number
  /** Whether one of them may be poison. */
  readonly poison: boolean
  readonly notify: (row: DueRow) => void
  readonly poisoned: (deliveryId: string) => void
  /** `begunAt`: when the publisher read its clock. */
  readonly committed: (deliveryId: string, begunAt: number) => void
}

export const planPublishes = (publishing: Publishing): void => {
  const { chance, poison, time, within } = publishing
  const count = 30 + chance.below(60)
  const poisonous = poison && chance.happens(0.15) ? chance.below(count) : -1
  for (let n = 0; n < count; n++) {
    const at = chance.happens(0.5) ? BURST_AT_MS : chance.between(0, within)
    time.after(at, () => publish(publishing, n, n === poisonous))
  }
}

const publish = (
  { chance, committed, model, notify, poisoned, time }: Publishing,
  n: number,
  poisonous: boolean
): void => {
  const endpoint = chance.oneOf([...model.endpoints.values()])
  const moment = time.now
  const late = chance.happens(0.2) ? chance.between(0, LATEST_COMMIT_MS) : chance.between(0, 5)
  const deliveryId = `whd_${String(n).padStart(4, "0")}`
  const asleep = model.begin(deliveryId, endpoint.shard)
  time.after(late, () => {
    model.open.delete(deliveryId)
    if (!model.publish(endpoint.id, deliveryId, moment, n % TEST_EACH === 0)) return
    if (poisonous) poisoned(deliveryId)
    committed(deliveryId, moment)
    if (asleep) notify(model.queue.get(deliveryId)!)
  })
}
