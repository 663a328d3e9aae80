/** Who gets a slot when receivers are slow: no clock, no database. */
import type { Content, DueRow } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { describe, expect, it } from "vitest"
import type { Sent } from "../../src/dispatcher/Dispatched.ts"
import { Dispatcher } from "../../src/dispatcher/Dispatcher.ts"
import { alone } from "../polling/Polling.ts"
import { rows } from "./Rows.ts"

const content = { traceId: "", failures: 0, endpoint: { enabled: true } } as Content
const SLOTS = 100

const started = () => {
  const dispatcher = new Dispatcher({ ...alone, slots: SLOTS })
  dispatcher.leases.take(0)
  const add = (workspaceId: string, endpoints: number, each: number) =>
    dispatcher.intake.add(
      Array.from({ length: endpoints }, (_, n) => rows(`${workspaceId}-${n}`, each, { workspaceId })).flat()
    )
  /** Loads and sends what may be sent at this moment. */
  const send = (now: number): ReadonlyArray<Sent> => {
    dispatcher.refresh(now)
    const picked = dispatcher.pick(dispatcher.prefetch.free)
    dispatcher.makeReady(picked.flatMap((row) => dispatcher.loaded(row, content, now) ?? []))
    const sent: Array<Sent> = []
    for (let one = dispatcher.start(now, true); one !== undefined; one = dispatcher.start(now, true))
      sent.push(one)
    return sent
  }
  const answer = (sent: ReadonlyArray<Sent>, durationMs: number) => {
    for (const one of sent)
      dispatcher.settle(
        one,
        { httpStatus: 200, failureReason: null, durationMs, responseBody: null },
        { status: "delivered" } as Observed,
        "same"
      )
    for (const settled of dispatcher.unrecorded.take(SLOTS)) dispatcher.recorded(settled)
  }
  return { add, answer, dispatcher, send }
}

const count = (sent: ReadonlyArray<Sent>, workspaceId: string) =>
  sent.filter(({ row }: { readonly row: DueRow }) => row.workspaceId === workspaceId).length

describe("slots", () => {
  it("§3.1 go to a seventh workspace at once while six others have receivers that answer after 59 s", () => {
    const { add, send } = started()
    for (let n = 0; n < 6; n++) {
      add(`wsp_slow${n}`, 100, 2)
      send(n)
    }

    add("wsp_quick", 1, 1)

    expect(count(send(10), "wsp_quick")).toBe(1)
  })

  it("§3.1 beyond three quarters are never given to endpoints whose requests last long, in however many workspaces", () => {
    const { add, answer, send } = started()
    const inFlight: Array<Sent> = []
    for (let n = 0; n < 40; n++) {
      add(`wsp_slow${n}`, 20, 20)
      inFlight.push(...send(n))
    }
    let most = 0
    for (let now = 2_000; now < 100_000; now += 500) {
      answer(inFlight.splice(0, 5), 59_000)
      inFlight.push(...send(now))
      if (now > 60_000) most = Math.max(most, inFlight.length)
    }
    add("wsp_quick", 1, 50)
    let quick = 0
    for (let now = 100_000; now < 101_000; now += 10) {
      const sent = send(now).filter(({ row }) => row.workspaceId === "wsp_quick")
      answer(sent, 5)
      quick += sent.length
    }

    expect(most).toBeLessThanOrEqual(75)
    expect(quick).toBe(50)
  })

  it("§3.1 are given to endpoints that answer quickly although others of their workspace are slow", () => {
    const { add, answer, send } = started()
    add("wsp_a", 1, 1)
    answer(send(0), 5)
    add("wsp_b", 100, 2)
    send(1)
    add("wsp_a", 100, 2)
    expect(send(2_000).map(({ row }) => row.endpointId)).toContain("wsp_a-0")
  })
})
