import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Content, DueRow } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { describe, expect, it } from "vitest"
import { Dispatcher, type DispatcherOptions } from "../../src/dispatcher/Dispatcher.ts"
import type { Pace, Waiting } from "../../src/dispatcher/Lane.ts"
import { NEVER } from "../../src/polling/ReadCursors.ts"
import { alone } from "../polling/Polling.ts"
import { rows } from "./Rows.ts"

/** A dispatcher with the shards of the rows in this test. */
const dispatcherOf = (options: Partial<DispatcherOptions> = {}) => {
  const dispatcher = new Dispatcher({ ...alone, ...options })
  for (const shard of [0, 3, 4]) dispatcher.take(shard, null)
  return dispatcher
}

const dispatcherWith = (...groups: ReadonlyArray<ReadonlyArray<DueRow>>) => {
  const dispatcher = dispatcherOf()
  for (const group of groups) dispatcher.intake.add(group)
  return dispatcher
}

const endpointsOf = (picked: ReadonlyArray<DueRow>) => picked.map(({ endpointId }) => endpointId)

const content = { traceId: "", endpoint: { enabled: true } } as Content
const disabled = { ...content, endpoint: { ...content.endpoint, enabled: false } }

/** As if it had been loaded and sent. */
const settle = (dispatcher: Dispatcher, row: Waiting, pace: Pace, delivered: boolean) =>
  dispatcher.settle(
    { row, content },
    { httpStatus: 200, failureReason: null, durationMs: 1, responseBody: null },
    { status: delivered ? "delivered" : "failed" } as Observed,
    pace
  )

/** As if its attempt had ended before it reached the endpoint. */
const settleUnasked = (dispatcher: Dispatcher, row: Waiting) =>
  dispatcher.settle(
    { row, content },
    { httpStatus: null, failureReason: "proxy_failed", durationMs: 1, responseBody: null },
    { status: "failed" } as Observed,
    "same"
  )

const record = (dispatcher: Dispatcher) => {
  for (const settled of dispatcher.unrecorded.take(Number.POSITIVE_INFINITY)) dispatcher.recorded(settled)
}

/** Answers everything as if it had been sent and recorded. */
const answer = (
  dispatcher: Dispatcher,
  picked: ReadonlyArray<Waiting>,
  pace: "faster" | "slower" = "faster"
) => {
  for (const row of picked) {
    settle(dispatcher, row, pace, pace === "faster")
    record(dispatcher)
  }
}

describe("dispatcher", () => {
  it("§3.4 an endpoint earns slots by answering, and loses half of them by a timeout", () => {
    const dispatcher = dispatcherWith(rows("a", 200))

    const sizes = [1, 2, 3, 4].map(() => {
      const picked = dispatcher.pick(100)
      answer(dispatcher, picked)
      return picked.length
    })
    const before = dispatcher.pick(100)
    answer(dispatcher, before.slice(0, 2), "slower")
    for (const row of before.slice(2)) settle(dispatcher, row, "same", true)

    expect(sizes).toEqual([2, 4, 8, 10])
    expect(dispatcher.pick(100)).toHaveLength(2)
  })

  it("§3.4 a failing proxy neither starts probing nor costs slots, and keeps the pauses of a probing lane", () => {
    const pauses: Array<() => void> = []
    const dispatcher = dispatcherOf({ later: (_, run) => void pauses.push(run) })
    dispatcher.intake.add(rows("a", 100))
    for (let n = 0; n < 3; n++) answer(dispatcher, dispatcher.pick(100))

    for (let n = 0; n < 3; n++) {
      const picked = dispatcher.pick(100)
      expect(picked).toHaveLength(10)
      for (const row of picked) settleUnasked(dispatcher, row)
      record(dispatcher)
    }
    expect(pauses).toHaveLength(0)

    const [first, second, third, ...others] = dispatcher.pick(100)
    for (const row of [first!, second!, third!]) settle(dispatcher, row, "same", false)
    dispatcher.requeue(others)
    record(dispatcher)
    expect([pauses.length, dispatcher.pick(100)]).toEqual([1, []])
    pauses[0]!()
    const [probe, ...more] = dispatcher.pick(100)
    expect(more).toEqual([])
    settleUnasked(dispatcher, probe!)
    record(dispatcher)
    expect([pauses.length, dispatcher.pick(100)]).toEqual([2, []])
  })

  it("§3.4 reads again what was loading when its shard was lost, once the shard is back", () => {
    for (const end of ["loaded", "requeue"] as const) {
      const told: Array<number> = []
      const dispatcher = dispatcherOf({ pollFrom: (moment) => void told.push(moment) })
      dispatcher.intake.add(rows("a", 1, { due: databaseMicros(5) }))
      const [row] = dispatcher.pick(1)
      dispatcher.lose(0)
      dispatcher.take(0, null)

      if (end === "loaded") dispatcher.loaded(row!, content, 0)
      else dispatcher.requeue([row!])

      expect(Math.min(...told)).toBe(5)
    }
  })

  it("§3.4 gives a dead endpoint with 5,000 waiting no more than its share beside fifty healthy ones", () => {
    const healthy = Array.from({ length: 50 }, (_, n) => rows(`healthy-${n}`, 1)).flat()
    const dispatcher = dispatcherWith(rows("dead", 5_000), healthy)

    const picked = endpointsOf(dispatcher.pick(100))

    expect(picked.filter((endpointId) => endpointId === "dead")).toHaveLength(2)
    expect(picked).toHaveLength(52)
  })

  it("§3.4 workspaces take turns, however many endpoints one of them has", () => {
    const busy = Array.from({ length: 40 }, (_, n) =>
      rows(`busy-${n}`, 2, { workspaceId: "wsp_busy" })
    ).flat()
    const dispatcher = dispatcherWith(busy, rows("single", 2, { workspaceId: "wsp_single" }))

    expect(dispatcher.pick(4).filter(({ workspaceId }) => workspaceId === "wsp_single")).toHaveLength(2)
  })

  it("§3.4 sends first attempts before retries, and yet lets no retry wait for ever", () => {
    const fresh = Array.from({ length: 40 }, (_, n) => rows(`fresh-${n}`, 2)).flat()
    const again = Array.from({ length: 40 }, (_, n) => rows(`again-${n}`, 2, { attempts: 1 })).flat()
    const dispatcher = dispatcherWith(again, fresh)

    const picked = dispatcher.pick(32).map(({ attempts }) => attempts)

    expect(picked.filter((attempts) => attempts === 1)).toHaveLength(4)
  })

  it("§3.4 remembers a delivery from its reading to its recording, also while a poll is under way", () => {
    const [row] = rows("a", 1)
    const dispatcher = dispatcherWith([row!])
    const [picked] = dispatcher.pick(1)

    dispatcher.intake.add([row!])
    settle(dispatcher, picked!, "faster", true)
    dispatcher.intake.add([row!])
    dispatcher.ids.readStarted()
    record(dispatcher)
    dispatcher.intake.add([row!])
    dispatcher.ids.readEnded()

    expect(dispatcher.pick(1)).toEqual([])
    expect(dispatcher.ids.of(0)).toBe(0)
  })

  it("keeps memory bounded whatever is read, and asks again for what it dropped", () => {
    const dispatcher = dispatcherOf({ maxWaiting: 100 })
    for (let n = 0; n < 50; n++) dispatcher.intake.add(rows("big", 100))
    dispatcher.intake.add(rows("small", 1))

    expect(dispatcher.sizes.waiting).toBeLessThanOrEqual(101)
    expect(dispatcher.backlog.skip(NEVER)).toEqual(["big"])
    const picked = dispatcher.pick(3)
    expect(endpointsOf(picked)).toContain("small")
    answer(dispatcher, picked)
    for (let n = 0; n < 20 && !dispatcher.backlog.needsRefill; n++) answer(dispatcher, dispatcher.pick(10))
    const wanted = dispatcher.backlog.toRefill(10)
    expect(wanted.map(({ endpointId }) => endpointId)).toEqual(["big"])

    dispatcher.intake.refill(wanted, rows("big", 3))

    expect(dispatcher.backlog.skip(NEVER)).toEqual([])
    expect(dispatcher.backlog.toRefill(10)).toEqual([])
  })

  it("§3.1 keeps memory free for every workspace, however many endpoints and deliveries another has", () => {
    const dispatcher = dispatcherOf({ maxWaiting: 2_000 })
    for (let n = 0; n < 3_000; n++) dispatcher.intake.add(rows(`busy-${n}`, 10, { workspaceId: "wsp_busy" }))
    const busy = dispatcher.sizes.waiting
    dispatcher.intake.add(rows("single", 100, { workspaceId: "wsp_single" }))

    expect(busy).toBeLessThanOrEqual(1_500)
    expect(dispatcher.sizes.waiting - busy).toBe(100)
  })

  it("§3.1 shares memory equally among workspaces that have more than it holds", () => {
    const dispatcher = dispatcherOf({ maxWaiting: 2_000 })
    for (let n = 0; n < 20; n++) dispatcher.intake.add(rows(`e-${n}`, 2_000, { workspaceId: `wsp_${n}` }))

    const of = new Map<string, number>()
    for (const { workspaceId } of dispatcher.pick(400)) of.set(workspaceId, (of.get(workspaceId) ?? 0) + 1)
    expect(of.size).toBe(20)
    expect(dispatcher.memory.room).toBeGreaterThan(0)
  })

  it("§3.1 refills workspaces in turn, and skips those without free memory", () => {
    const dispatcher = dispatcherOf({ maxWaiting: 2_000 })
    for (let n = 0; n < 3_000; n++) dispatcher.intake.add(rows(`busy-${n}`, 10, { workspaceId: "wsp_busy" }))
    expect(dispatcher.backlog.needsRefill).toBe(false)
    dispatcher.intake.add(rows("single", 1_000, { workspaceId: "wsp_single" }))
    const asks = (most: number) => dispatcher.backlog.toRefill(most).map(({ workspaceId }) => workspaceId)
    for (let n = 0; n < 100 && !asks(5_000).includes("wsp_single"); n++)
      answer(dispatcher, dispatcher.pick(100))

    expect(new Set(asks(4))).toEqual(new Set(["wsp_busy", "wsp_single"]))
  })

  it("§3.1 keeps slots free for workspaces that use few, whatever hangs in another", () => {
    const dispatcher = dispatcherOf({ slots: 100 })
    for (let n = 0; n < 300; n++)
      dispatcher.intake.add(rows(`hanging-${n}`, 4, { workspaceId: "wsp_hanging" }))

    const hanging = dispatcher.pick(100)
    dispatcher.intake.add(rows("quick", 20, { workspaceId: "wsp_quick" }))
    const quick = dispatcher.pick(100 - hanging.length)
    answer(dispatcher, quick)
    const more = dispatcher.pick(100 - hanging.length)

    expect(hanging).toHaveLength(75)
    expect(endpointsOf(quick)).toEqual(["quick", "quick"])
    expect(endpointsOf(more)).toEqual(["quick", "quick", "quick", "quick"])
  })

  it("§3.1 continues where a full lane stopped, except for what a poll would have returned behind that", () => {
    const table = rows("busy", 3_000)
    const dispatcher = dispatcherWith(table)
    const drain = () => {
      while (dispatcher.backlog.toRefill(1).length === 0) answer(dispatcher, dispatcher.pick(100))
    }
    const read = () => {
      const [wanted] = dispatcher.backlog.toRefill(1)
      const from = table.filter((row) => row.due >= wanted!.due).slice(0, wanted!.wanted)
      dispatcher.intake.refill([wanted!], from)
      return wanted!
    }

    drain()
    const first = read()
    drain()
    const second = dispatcher.backlog.toRefill(1)[0]!
    expect(first.due).toBe(table[1_000]!.due)
    expect(second.due).toBeGreaterThan(first.due)

    // A transaction that began before that row commits now. Polls leave the endpoint out, so its lane has to go back.
    expect(dispatcher.backlog.skip(databaseMicros(first.due + 1))).toEqual(["busy"])
    expect(dispatcher.backlog.toRefill(1)[0]).toMatchObject({ due: first.due + 1, deliveryId: "" })
  })

  it("§3.1 reads again what a sweep may have found: at once, or when what is before it is gone", () => {
    const [early, late, ...rest] = rows("a", 30)
    const dispatcher = dispatcherWith([early!, ...rest])
    dispatcher.intake.sweep(rows("b", 1))
    expect(dispatcher.backlog.toRefill(10).map(({ endpointId }) => endpointId)).toEqual(["b"])
    dispatcher.intake.refill(dispatcher.backlog.toRefill(10), [])

    // `late` was committed between `early` and the others, without a notification.
    dispatcher.intake.sweep([early!])
    const [wanted] = dispatcher.backlog.toRefill(10)
    expect(wanted).toMatchObject({ endpointId: "a", deliveryId: early!.deliveryId })
    dispatcher.intake.refill([wanted!], [early!, late!, ...rest])

    expect(dispatcher.sizes.waiting).toBe(30)
  })

  it("§3.4 keeps nothing of a disabled endpoint in memory, and reads it again when it is enabled", () => {
    const dispatcher = dispatcherWith(rows("off", 30))
    const [loaded] = dispatcher.pick(1)

    dispatcher.loaded(loaded!, disabled, 0)
    dispatcher.intake.add(rows("on", 1))

    expect(endpointsOf(dispatcher.pick(10))).toEqual(["on"])
    expect(dispatcher.sizes).toMatchObject({ waiting: 0, lanes: 1 })
    expect(dispatcher.backlog.toRefill(10)).toEqual([])

    dispatcher.intake.usable({ workspaceId: "wsp_1", endpointId: "off", shard: 0 })
    const wanted = dispatcher.backlog.toRefill(10)
    dispatcher.intake.refill(wanted, rows("off", 5))
    expect(endpointsOf(dispatcher.pick(10))).toEqual(["off", "off"])
  })

  it("§3.4 loads again what was read while its endpoint was enabled", () => {
    const dispatcher = dispatcherWith(rows("off", 2))
    const [loaded] = dispatcher.pick(1)

    dispatcher.endpointChanged("off", 0, 0)
    dispatcher.loaded(loaded!, disabled, 0)

    expect(endpointsOf(dispatcher.pick(10))).toEqual(["off", "off"])
  })

  it("starts nothing after a failure until it is recorded, because it may disable the endpoint", () => {
    const dispatcher = dispatcherOf({ endpointConcurrency: 1 })
    dispatcher.intake.add(rows("a", 2))
    const [first] = dispatcher.pick(1)

    settle(dispatcher, first!, "faster", false)
    expect(dispatcher.pick(1)).toEqual([])
    record(dispatcher)

    expect(dispatcher.pick(1)).toHaveLength(1)
  })

  it("§3.4 sends a test while its lane pauses, before what waits, and even when memory is full", () => {
    const dispatcher = dispatcherOf({ endpointConcurrency: 10 })
    dispatcher.intake.add(rows("a", 5_000))
    for (let n = 0; n < 3; n++) {
      settle(dispatcher, dispatcher.pick(1)[0]!, "same", false)
      record(dispatcher)
    }
    expect(dispatcher.pick(10)).toEqual([])

    const [test] = rows("a", 1, { atOnce: true })
    dispatcher.intake.add([test!])
    const picked = dispatcher.pick(10)
    expect(picked.map(({ deliveryId }) => deliveryId)).toEqual([test!.deliveryId])
    answer(dispatcher, picked)

    expect(dispatcher.pick(10)).not.toEqual([])
  })

  it("§3.4 probes at once when its endpoint is repaired, whatever is still in flight", () => {
    const dispatcher = dispatcherWith(rows("a", 50))
    const early = dispatcher.pick(2)
    settle(dispatcher, early[0]!, "faster", false)
    record(dispatcher)
    for (const row of dispatcher.pick(2)) settle(dispatcher, row, "faster", false)
    record(dispatcher)
    expect(dispatcher.pick(10)).toEqual([])

    dispatcher.endpointChanged("a", 3, 0)
    settle(dispatcher, early[1]!, "faster", false)
    record(dispatcher)

    const [probe] = dispatcher.pick(10)
    settle(dispatcher, probe!, "faster", false)
    record(dispatcher)
    expect(dispatcher.pick(10)).toEqual([])
  })

  it("§3.4 probes an endpoint at once that was repaired while nothing of it was in memory", () => {
    const dispatcher = dispatcherOf()
    const mayBeSent = () => {
      dispatcher.intake.add(rows("a", 1))
      const [row] = dispatcher.pick(1)
      return dispatcher.loaded(row!, { ...content, failures: 6 }, 0) !== null
    }
    dispatcher.endpointChanged("a", 6, 0)
    // Taken again: only the database knows what another owner saw meanwhile.
    dispatcher.lose(0)
    dispatcher.take(0, null)
    expect(mayBeSent()).toBe(false)
    dispatcher.lose(0)
    dispatcher.take(0, null)
    dispatcher.endpointChanged("a", 6, 0)
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
      const doubted = Array.from({ length: 40 }, (_, n) => rows(`s${n}`, 1, { claims }))
      const dispatcher = dispatcherWith(...doubted, rows("well", 1))

      const picked = dispatcher.pick(100)

      expect(picked.filter((row) => row.claims > 0)).toHaveLength(most)
      expect(picked).toHaveLength(most + 1)
      answer(dispatcher, picked)
      expect(dispatcher.pick(100)).toHaveLength(Math.min(most, 40 - most))
    }
  )

  it("§3.4 sends what was in flight at four deaths separately from what was at fewer", () => {
    const dispatcher = dispatcherWith(rows("a", 2, { claims: 2 }), rows("b", 1, { claims: 4 }))
    const together = dispatcher.pick(10)
    expect(together.map(({ claims }) => claims)).toEqual([2, 2])
    answer(dispatcher, together)
    expect(dispatcher.pick(10).map(({ claims }) => claims)).toEqual([4])
  })

  it("forgets waiting deliveries of a lost shard, and keeps those in flight until they are recorded", () => {
    const dispatcher = dispatcherWith(rows("a", 5, { shard: 3 }), rows("b", 1, { shard: 4 }))
    const inFlight = dispatcher.pick(2).filter(({ shard }) => shard === 3)

    dispatcher.lose(3)

    expect(dispatcher.ids.of(3)).toBe(inFlight.length)
    answer(dispatcher, inFlight)
    expect(dispatcher.ids.of(3)).toBe(0)
    expect(endpointsOf(dispatcher.pick(10))).not.toContain("a")
  })
})
