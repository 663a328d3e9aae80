import type { Content, DueRow } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { describe, expect, it } from "vitest"
import type { Pace, Waiting } from "../../src/lanes/Lane.ts"
import { Lanes, type LanesOptions } from "../../src/lanes/Lanes.ts"
import { alone } from "../loops/Polling.ts"
import { rows } from "./Rows.ts"

/** A hub with the shards of the rows in this test. */
const lanesOf = (options: Partial<LanesOptions> = {}) => {
  const lanes = new Lanes({ ...alone, ...options })
  for (const shard of [0, 3, 4]) lanes.take(shard, null)
  return lanes
}

const lanesWith = (...groups: ReadonlyArray<ReadonlyArray<DueRow>>) => {
  const lanes = lanesOf()
  for (const group of groups) lanes.add(group)
  return lanes
}

const endpointsOf = (picked: ReadonlyArray<DueRow>) => picked.map(({ endpointId }) => endpointId)

const content = { traceId: "", endpoint: { enabled: true } } as Content

/** As if it had been loaded and sent. */
const settle = (lanes: Lanes, row: Waiting, pace: Pace, delivered: boolean) =>
  lanes.settle(
    { row, content },
    { httpStatus: 200, failureReason: null, durationMs: 1, responseBody: null },
    { status: delivered ? "delivered" : "failed" } as Observed,
    pace
  )

/** As if its attempt had ended before it reached the endpoint. */
const settleUnasked = (lanes: Lanes, row: Waiting) =>
  lanes.settle(
    { row, content },
    { httpStatus: null, failureReason: "proxy_failed", durationMs: 1, responseBody: null },
    { status: "failed" } as Observed,
    "same"
  )

const record = (lanes: Lanes) => {
  for (const settled of lanes.takeSettled(Number.POSITIVE_INFINITY)) lanes.recorded(settled)
}

/** Answers everything as if it had been sent and recorded. */
const answer = (lanes: Lanes, picked: ReadonlyArray<Waiting>, pace: "faster" | "slower" = "faster") => {
  for (const row of picked) {
    settle(lanes, row, pace, pace === "faster")
    record(lanes)
  }
}

describe("lanes", () => {
  it("§3.4 an endpoint earns slots by answering, and loses half of them by a timeout", () => {
    const lanes = lanesWith(rows("a", 200))

    const sizes = [1, 2, 3, 4].map(() => {
      const picked = lanes.pick(100)
      answer(lanes, picked)
      return picked.length
    })
    const before = lanes.pick(100)
    answer(lanes, before.slice(0, 2), "slower")
    for (const row of before.slice(2)) settle(lanes, row, "same", true)

    expect(sizes).toEqual([2, 4, 8, 10])
    expect(lanes.pick(100)).toHaveLength(2)
  })

  it("§3.4 a failing proxy neither starts probing nor costs slots, and keeps the pauses of a probing lane", () => {
    const pauses: Array<() => void> = []
    const lanes = lanesOf({ later: (_, run) => void pauses.push(run) })
    lanes.add(rows("a", 100))
    for (let n = 0; n < 3; n++) answer(lanes, lanes.pick(100))

    for (let n = 0; n < 3; n++) {
      const picked = lanes.pick(100)
      expect(picked).toHaveLength(10)
      for (const row of picked) settleUnasked(lanes, row)
      record(lanes)
    }
    expect(pauses).toHaveLength(0)

    const [first, second, third, ...others] = lanes.pick(100)
    for (const row of [first!, second!, third!]) settle(lanes, row, "same", false)
    lanes.giveBack(others)
    record(lanes)
    expect([pauses.length, lanes.pick(100)]).toEqual([1, []])
    pauses[0]!()
    const [probe, ...more] = lanes.pick(100)
    expect(more).toEqual([])
    settleUnasked(lanes, probe!)
    record(lanes)
    expect([pauses.length, lanes.pick(100)]).toEqual([2, []])
  })

  it("§3.4 reads again what was loading when its shard was lost, once the shard is back", () => {
    for (const end of ["loaded", "giveBack"] as const) {
      const told: Array<number> = []
      const lanes = lanesOf({ pollFrom: (moment) => void told.push(moment) })
      lanes.add(rows("a", 1, { due: 5 }))
      const [row] = lanes.pick(1)
      lanes.lose(0)
      lanes.take(0, null)

      if (end === "loaded") lanes.loaded(row!, content, 0)
      else lanes.giveBack([row!])

      expect(Math.min(...told)).toBe(5)
    }
  })

  it("§3.4 gives a dead endpoint with 5,000 waiting no more than its share beside fifty healthy ones", () => {
    const healthy = Array.from({ length: 50 }, (_, n) => rows(`healthy-${n}`, 1)).flat()
    const lanes = lanesWith(rows("dead", 5_000), healthy)

    const picked = endpointsOf(lanes.pick(100))

    expect(picked.filter((endpointId) => endpointId === "dead")).toHaveLength(2)
    expect(picked).toHaveLength(52)
  })

  it("§3.4 workspaces take turns, however many endpoints one of them has", () => {
    const crowd = Array.from({ length: 40 }, (_, n) =>
      rows(`crowd-${n}`, 2, { workspaceId: "wsp_crowd" })
    ).flat()
    const lanes = lanesWith(crowd, rows("single", 2, { workspaceId: "wsp_single" }))

    expect(lanes.pick(4).filter(({ workspaceId }) => workspaceId === "wsp_single")).toHaveLength(2)
  })

  it("§3.4 sends first attempts before retries, and yet lets no retry wait for ever", () => {
    const fresh = Array.from({ length: 40 }, (_, n) => rows(`fresh-${n}`, 2)).flat()
    const again = Array.from({ length: 40 }, (_, n) => rows(`again-${n}`, 2, { attempts: 1 })).flat()
    const lanes = lanesWith(again, fresh)

    const picked = lanes.pick(32).map(({ attempts }) => attempts)

    expect(picked.filter((attempts) => attempts === 1)).toHaveLength(4)
  })

  it("§3.4 remembers a delivery from its reading to its recording, also while a poll is under way", () => {
    const [row] = rows("a", 1)
    const lanes = lanesWith([row!])
    const [picked] = lanes.pick(1)

    lanes.add([row!])
    settle(lanes, picked!, "faster", true)
    lanes.add([row!])
    lanes.readStarted()
    record(lanes)
    lanes.add([row!])
    lanes.readEnded()

    expect(lanes.pick(1)).toEqual([])
    expect(lanes.heldOf(0)).toBe(0)
  })

  it("keeps memory bounded whatever is read, and asks again for what it dropped", () => {
    const lanes = lanesOf({ maxWaiting: 100 })
    for (let n = 0; n < 50; n++) lanes.add(rows("big", 100))
    lanes.add(rows("small", 1))

    expect(lanes.sizes.waiting).toBeLessThanOrEqual(101)
    expect(lanes.skip(Number.POSITIVE_INFINITY)).toEqual(["big"])
    const picked = lanes.pick(3)
    expect(endpointsOf(picked)).toContain("small")
    answer(lanes, picked)
    for (let n = 0; n < 20 && !lanes.hasThin; n++) answer(lanes, lanes.pick(10))
    const wanted = lanes.toRefill(10)
    expect(wanted.map(({ endpointId }) => endpointId)).toEqual(["big"])

    lanes.refill(wanted, rows("big", 3))

    expect(lanes.skip(Number.POSITIVE_INFINITY)).toEqual([])
    expect(lanes.toRefill(10)).toEqual([])
  })

  it("§3.1 keeps memory free for every workspace, however many endpoints and deliveries another has", () => {
    const lanes = lanesOf({ maxWaiting: 2_000 })
    for (let n = 0; n < 3_000; n++) lanes.add(rows(`crowd-${n}`, 10, { workspaceId: "wsp_crowd" }))
    const crowd = lanes.sizes.waiting
    lanes.add(rows("single", 100, { workspaceId: "wsp_single" }))

    expect(crowd).toBeLessThanOrEqual(1_500)
    expect(lanes.sizes.waiting - crowd).toBe(100)
  })

  it("§3.1 shares memory equally among workspaces that have more than it holds", () => {
    const lanes = lanesOf({ maxWaiting: 2_000 })
    for (let n = 0; n < 20; n++) lanes.add(rows(`e-${n}`, 2_000, { workspaceId: `wsp_${n}` }))

    const of = new Map<string, number>()
    for (const { workspaceId } of lanes.pick(400)) of.set(workspaceId, (of.get(workspaceId) ?? 0) + 1)
    expect(of.size).toBe(20)
    expect(lanes.room).toBeGreaterThan(0)
  })

  it("§3.1 refills workspaces in turn, and skips those without free memory", () => {
    const lanes = lanesOf({ maxWaiting: 2_000 })
    for (let n = 0; n < 3_000; n++) lanes.add(rows(`crowd-${n}`, 10, { workspaceId: "wsp_crowd" }))
    expect(lanes.hasThin).toBe(false)
    lanes.add(rows("single", 1_000, { workspaceId: "wsp_single" }))
    const asks = (most: number) => lanes.toRefill(most).map(({ workspaceId }) => workspaceId)
    for (let n = 0; n < 100 && !asks(5_000).includes("wsp_single"); n++) answer(lanes, lanes.pick(100))

    expect(new Set(asks(4))).toEqual(new Set(["wsp_crowd", "wsp_single"]))
  })

  it("§3.1 keeps slots free for workspaces that use few, whatever hangs in another", () => {
    const lanes = lanesOf({ slots: 100 })
    for (let n = 0; n < 300; n++) lanes.add(rows(`hanging-${n}`, 4, { workspaceId: "wsp_hanging" }))

    const hanging = lanes.pick(100)
    lanes.add(rows("quick", 20, { workspaceId: "wsp_quick" }))
    const quick = lanes.pick(100 - hanging.length)
    answer(lanes, quick)
    const more = lanes.pick(100 - hanging.length)

    expect(hanging).toHaveLength(90)
    expect(endpointsOf(quick)).toEqual(["quick", "quick"])
    expect(endpointsOf(more)).toEqual(["quick", "quick", "quick", "quick"])
  })

  it("§3.1 continues where a full lane stopped, except for what a poll would have returned behind that", () => {
    const table = rows("busy", 3_000)
    const lanes = lanesWith(table)
    const drain = () => {
      while (lanes.toRefill(1).length === 0) answer(lanes, lanes.pick(100))
    }
    const read = () => {
      const [wanted] = lanes.toRefill(1)
      const from = table.filter((row) => row.due >= wanted!.due).slice(0, wanted!.wanted)
      lanes.refill([wanted!], from)
      return wanted!
    }

    drain()
    const first = read()
    drain()
    const second = lanes.toRefill(1)[0]!
    expect(first.due).toBe(table[1_000]!.due)
    expect(second.due).toBeGreaterThan(first.due)

    // A transaction that began before that row commits now. Polls leave the endpoint out, so its lane has to go back.
    expect(lanes.skip(first.due + 1)).toEqual(["busy"])
    expect(lanes.toRefill(1)[0]).toMatchObject({ due: first.due + 1, deliveryId: "" })
  })

  it("§3.1 reads again what a sweep may have found: at once, or when what is before it is gone", () => {
    const [early, late, ...rest] = rows("a", 30)
    const lanes = lanesWith([early!, ...rest])
    lanes.sweep(rows("b", 1))
    expect(lanes.toRefill(10).map(({ endpointId }) => endpointId)).toEqual(["b"])
    lanes.refill(lanes.toRefill(10), [])

    // `late` was committed between `early` and the others, without a notification.
    lanes.sweep([early!])
    const [wanted] = lanes.toRefill(10)
    expect(wanted).toMatchObject({ endpointId: "a", deliveryId: early!.deliveryId })
    lanes.refill([wanted!], [early!, late!, ...rest])

    expect(lanes.sizes.waiting).toBe(30)
  })

  it("§3.4 keeps nothing of a disabled endpoint in memory, and reads it again when it is enabled", () => {
    const lanes = lanesWith(rows("off", 30))
    const [loaded] = lanes.pick(1)

    lanes.loaded(loaded!, { ...content, endpoint: { ...content.endpoint, enabled: false } }, 0)
    lanes.add(rows("on", 1))
    lanes.add(rows("off", 5))

    expect(endpointsOf(lanes.pick(10))).toEqual(["on"])
    expect(lanes.sizes.waiting).toBe(0)
    expect(lanes.parkedLanes).toEqual([{ workspaceId: "wsp_1", endpointId: "off" }])

    lanes.unpark("off")
    const wanted = lanes.toRefill(10)
    lanes.refill(wanted, rows("off", 5))
    expect(endpointsOf(lanes.pick(10))).toEqual(["off", "off"])
  })

  it("starts nothing after a failure until it is recorded, because it may disable the endpoint", () => {
    const lanes = lanesOf({ endpointConcurrency: 1 })
    lanes.add(rows("a", 2))
    const [first] = lanes.pick(1)

    settle(lanes, first!, "faster", false)
    expect(lanes.pick(1)).toEqual([])
    record(lanes)

    expect(lanes.pick(1)).toHaveLength(1)
  })

  it("§3.4 sends a test while its lane pauses, before what waits, and even when memory is full", () => {
    const lanes = lanesOf({ endpointConcurrency: 10 })
    lanes.add(rows("a", 5_000))
    for (let n = 0; n < 3; n++) {
      settle(lanes, lanes.pick(1)[0]!, "same", false)
      record(lanes)
    }
    expect(lanes.pick(10)).toEqual([])

    const [test] = rows("a", 1, { atOnce: true })
    lanes.add([test!])
    const picked = lanes.pick(10)
    expect(picked.map(({ deliveryId }) => deliveryId)).toEqual([test!.deliveryId])
    answer(lanes, picked)

    expect(lanes.pick(10)).not.toEqual([])
  })

  it("§3.4 probes at once when its endpoint is repaired, whatever is still in flight", () => {
    const lanes = lanesWith(rows("a", 50))
    const early = lanes.pick(2)
    settle(lanes, early[0]!, "faster", false)
    record(lanes)
    for (const row of lanes.pick(2)) settle(lanes, row, "faster", false)
    record(lanes)
    expect(lanes.pick(10)).toEqual([])

    lanes.mended("a", 3, 0)
    settle(lanes, early[1]!, "faster", false)
    record(lanes)

    const [probe] = lanes.pick(10)
    settle(lanes, probe!, "faster", false)
    record(lanes)
    expect(lanes.pick(10)).toEqual([])
  })

  it("§3.4 probes an endpoint at once that was repaired while nothing of it was in memory", () => {
    const lanes = lanesOf()
    const mayBeSent = () => {
      lanes.add(rows("a", 1))
      const [row] = lanes.pick(1)
      return lanes.loaded(row!, { ...content, failures: 6 }, 0) !== null
    }
    lanes.mended("a", 6, 0)
    // Taken again: only the database knows what another owner saw meanwhile.
    lanes.lose(0)
    lanes.take(0, null)
    expect(mayBeSent()).toBe(false)
    lanes.lose(0)
    lanes.take(0, null)
    lanes.mended("a", 6, 0)
    expect(mayBeSent()).toBe(true)
  })

  it.each([
    [2, 32],
    [3, 6],
    [4, 1],
    [6, 1]
  ])(
    "§3.4 of deliveries that were in flight when %i workers died, %i are sent at a time, beside others",
    (claims, most) => {
      const suspects = Array.from({ length: 40 }, (_, n) => rows(`s${n}`, 1, { claims }))
      const lanes = lanesWith(...suspects, rows("well", 1))

      const picked = lanes.pick(100)

      expect(picked.filter((row) => row.claims > 0)).toHaveLength(most)
      expect(picked).toHaveLength(most + 1)
      answer(lanes, picked)
      expect(lanes.pick(100)).toHaveLength(Math.min(most, 40 - most))
    }
  )

  it("§3.4 sends what was in flight at four deaths separately from what was at fewer", () => {
    const lanes = lanesWith(rows("a", 2, { claims: 2 }), rows("b", 1, { claims: 4 }))
    const together = lanes.pick(10)
    expect(together.map(({ claims }) => claims)).toEqual([2, 2])
    answer(lanes, together)
    expect(lanes.pick(10).map(({ claims }) => claims)).toEqual([4])
  })

  it("forgets waiting deliveries of a lost shard, and keeps those in flight until they are recorded", () => {
    const lanes = lanesWith(rows("a", 5, { shard: 3 }), rows("b", 1, { shard: 4 }))
    const inFlight = lanes.pick(2).filter(({ shard }) => shard === 3)

    lanes.lose(3)

    expect(lanes.heldOf(3)).toBe(inFlight.length)
    answer(lanes, inFlight)
    expect(lanes.heldOf(3)).toBe(0)
    expect(endpointsOf(lanes.pick(10))).not.toContain("a")
  })
})
