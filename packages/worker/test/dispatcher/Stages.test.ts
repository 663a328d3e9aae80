/** What a delivery holds in each stage, whatever way it takes, is what the table says. */
import type { Content } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { describe, expect, it } from "vitest"
import { Dispatcher } from "../../src/dispatcher/Dispatcher.ts"
import type { Lane, Waiting } from "../../src/dispatcher/Lane.ts"
import { HOLDS, type Stage } from "../../src/dispatcher/Stages.ts"
import { alone } from "../polling/Polling.ts"
import { makeChance } from "../simulation/VirtualTime.ts"
import { rows } from "./Rows.ts"

const content = { traceId: "", failures: 0, endpoint: { enabled: true } } as Content
const seen = { httpStatus: 200, failureReason: null, durationMs: 1, responseBody: null }

/** A dispatcher that takes random steps, and every delivery that it has had. */
const makeWorld = (seed: number) => {
  const chance = makeChance(seed)
  const later: Array<() => void> = []
  const dispatcher = new Dispatcher({ ...alone, slots: 8, later: (_, run) => void later.push(run) })
  const known = new Map<string, Waiting>()
  const loading = new Set<Waiting>()
  const sent = new Map<Waiting, { row: Waiting; content: Content }>()
  let now = 0
  dispatcher.take(0, null)
  const take = <A>(all: Iterable<A>): A | undefined => {
    const list = [...all]
    return list.length === 0 ? undefined : list[chance.below(list.length)]
  }
  const end = (row: Waiting) => {
    const one = sent.get(row)!
    sent.delete(row)
    if (row.stage !== "sent") return
    const way = chance.below(5)
    if (way === 0) dispatcher.notSent(one)
    else if (way === 1) dispatcher.unobserved(one, chance.happens(0.5))
    else if (way === 2) dispatcher.sendAgain(one)
    else dispatcher.settle(one, seen, { status: way === 3 ? "delivered" : "failed" } as Observed, "same")
  }
  const steps: ReadonlyArray<() => void> = [
    () => dispatcher.intake.add(rows(`e${chance.below(4)}`, 3)),
    () => {
      for (const row of dispatcher.pick(4)) loading.add(row)
    },
    () => {
      const row = take(loading)
      if (row === undefined) return
      loading.delete(row)
      if (row.stage !== "loading") return
      const way = chance.below(8)
      if (way === 0) dispatcher.requeue([row])
      else if (way === 1) dispatcher.postpone([row])
      else {
        const loaded = dispatcher.loaded(row, way === 2 ? null : content, now)
        if (loaded !== null) dispatcher.makeReady([loaded])
      }
    },
    () => {
      const one = dispatcher.start(now, !chance.happens(0.1))
      if (one !== undefined) sent.set(one.row, one)
    },
    () => {
      const row = take(sent.keys())
      if (row !== undefined) end(row)
    },
    () => {
      for (const settled of dispatcher.unrecorded.take(2)) dispatcher.recorded(settled)
      for (const one of dispatcher.takeUnobserved()) dispatcher.counted(one)
    },
    () => later.shift()?.(),
    () => {
      if (!chance.happens(0.05)) return
      dispatcher.lose(0)
      dispatcher.take(0, null)
    },
    () => {
      now += chance.below(40)
      dispatcher.refresh(now)
    }
  ]
  const step = () => {
    steps[chance.below(steps.length)]!()
    for (const lane of dispatcher.lanes.values())
      for (const line of [lane.tests, lane.fresh, lane.again]) {
        const all = line.takeAll()
        for (const row of all) {
          line.push(row)
          known.set(row.deliveryId, row)
        }
      }
    for (const row of loading) known.set(row.deliveryId, row)
  }
  return { dispatcher, known, step }
}

const count = (known: Iterable<Waiting>, holds: (stage: Stage) => boolean) =>
  [...known].filter(({ stage }) => holds(stage)).length

describe("the stages of a delivery", () => {
  it("§3.4 hold what the table says, whatever way each delivery takes", () => {
    for (let seed = 1; seed <= 10; seed++) {
      const { dispatcher, known, step } = makeWorld(seed)
      for (let n = 0; n < 300; n++) {
        step()
        const all = [...known.values()]
        expect(dispatcher.memory.waiting).toBe(count(all, (stage) => HOLDS[stage].memory))
        expect(dispatcher.inFlight).toBe(count(all, (stage) => HOLDS[stage].inFlight))
        expect(8 - dispatcher.prefetch.free - dispatcher.ready.length).toBe(
          count(all, (stage) => HOLDS[stage].slot)
        )
        for (const { deliveryId, stage } of all) expect(dispatcher.ids.has(deliveryId)).toBe(HOLDS[stage].id)
        const permits = new Map<Lane, number>()
        for (const { hasLanePermit, lane, stage } of all) {
          if (!hasLanePermit) continue
          expect(HOLDS[stage].lanePermit).toBe(true)
          permits.set(lane, (permits.get(lane) ?? 0) + 1)
        }
        for (const lane of dispatcher.lanes.values()) expect(lane.permitsTaken).toBe(permits.get(lane) ?? 0)
      }
    }
  })
})
