/** A lane with a rate, in a dispatcher of the test's: whose turn it is, and what it costs while it waits. Moments are the test's. */
import type { RateLimit } from "@posthorn/domain/DeliveryPolicy"
import type { Content } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { describe, expect, it } from "vitest"
import { Dispatcher, type DispatcherOptions } from "../../src/dispatcher/Dispatcher.ts"
import type { Waiting } from "../../src/dispatcher/Lane.ts"
import { alone } from "../polling/Polling.ts"
import { rows } from "./Rows.ts"

const content = { traceId: "", endpoint: { enabled: true }, failures: 0 } as Content

/** A dispatcher, and a worker that loads and sends at once whatever it may. */
const limited = (
  limits: Readonly<Record<string, RateLimit | null>>,
  options: Partial<DispatcherOptions> = {}
) => {
  const state = { now: 0, loads: 0, reads: 0, timers: 0, sent: [] as Array<Waiting>, limits: { ...limits } }
  const timers: Array<{ readonly moment: number; readonly run: (now: number) => void }> = []
  const dispatcher = new Dispatcher({
    ...alone,
    slots: 100,
    later: (ms, run) => void timers.push({ moment: state.now + ms, run }),
    wakeAt: (moment, run) => {
      state.timers++
      timers.push({ moment, run })
    },
    ...options
  })
  dispatcher.take(0, null)
  /** Everything that may be sent now; each is answered so, and recorded. */
  const send = (status: Observed["status"] | null = "delivered") => {
    for (let picked = dispatcher.pick(100); picked.length > 0; picked = dispatcher.pick(100)) {
      state.loads += picked.length
      const unread = dispatcher.rateLimits.hold(
        picked,
        picked.map(({ endpointId }) => state.limits[endpointId] ?? null)
      )
      if (unread.length > 0) state.reads++
      dispatcher.rateLimits.read(
        unread,
        unread.map(() => ({ agesMs: [] })),
        state.now
      )
      dispatcher.makeReady(picked.flatMap((row) => dispatcher.loaded(row, content, state.now) ?? []))
      for (
        let one = dispatcher.start(state.now, true);
        one !== undefined;
        one = dispatcher.start(state.now, true)
      ) {
        dispatcher.rateLimits.start(one.row, state.now)
        state.sent.push(one.row)
        if (status === null) continue
        const seen = { httpStatus: 200, failureReason: null, durationMs: 1, responseBody: null }
        dispatcher.settle(one, seen, { status } as Observed, "same")
      }
      for (const settled of dispatcher.unrecorded.take(1_000)) dispatcher.recorded(settled)
    }
    return state.sent.splice(0)
  }
  const wait = (ms: number) => {
    state.now += ms
    for (const timer of timers.splice(0)) {
      if (timer.moment <= state.now) timer.run(state.now)
      else timers.push(timer)
    }
  }
  return { dispatcher, send, state, wait }
}

const SECOND = { requests: 1, perSeconds: 1 }
const HOUR = { requests: 1, perSeconds: 3_600 }

describe("a lane with a rate", () => {
  it("§3.5 sends as its rate allows, beside others that do not wait for it", () => {
    const { dispatcher, send, wait } = limited({ slow: SECOND })
    dispatcher.intake.add([...rows("slow", 3), ...rows("free", 5)])

    const sent = send().map(({ endpointId }) => endpointId)
    expect(sent.filter((id) => id === "free")).toHaveLength(5)
    expect(sent.filter((id) => id === "slow")).toHaveLength(1)
    wait(999)
    expect(send()).toHaveLength(0)
    wait(1)
    expect(send()).toHaveLength(1)
  })

  it("§3.5 costs nothing while it waits: no load, no reading, one timer for all lanes", () => {
    const { dispatcher, send, state, wait } = limited(
      Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`e${n}`, HOUR]))
    )
    for (let n = 0; n < 1_000; n++) dispatcher.intake.add(rows(`e${n}`, 3))
    expect(send()).toHaveLength(1_000)
    const before = { ...state }
    for (let n = 0; n < 100; n++) {
      wait(30_000)
      dispatcher.notifyLoader()
      expect(send()).toHaveLength(0)
    }

    expect(state.loads - before.loads).toBe(0)
    expect(state.reads - before.reads).toBe(0)
    expect(state.timers).toBe(1)
  })

  it("§3.5 shares its permits between first attempts and retries, so that neither waits for ever", () => {
    const { dispatcher, send, wait } = limited({ a: SECOND })
    dispatcher.intake.add([...rows("a", 60), ...rows("a", 20, { attempts: 1 })])
    const attempts: Array<number> = []
    for (let second = 0; second < 41; second++) {
      attempts.push(...send().map((row) => row.attempts))
      wait(1_000)
    }

    expect(attempts).toHaveLength(41)
    expect(attempts.filter((n) => n === 1)).toHaveLength(5)
  })

  it("§3.5 sends a test first, and not before its rate allows it", () => {
    const { dispatcher, send, wait } = limited({ a: SECOND })
    dispatcher.intake.add(rows("a", 3))
    send()
    dispatcher.intake.add(rows("a", 1, { atOnce: true }))

    expect(send()).toHaveLength(0)
    wait(1_000)
    expect(send().map(({ atOnce }) => atOnce)).toEqual([true])
  })

  it("§3.5 that probes waits for its pause and for its rate", () => {
    const { dispatcher, send, wait } = limited(
      { a: { requests: 4, perSeconds: 10 } },
      { retryDelayMs: 24_000 }
    )
    dispatcher.intake.add(rows("a", 20))
    for (let n = 0; n < 2; n++) send("failed_permanent")
    // It probes: three have failed, and the first pause is 3 s.
    wait(2_999)
    expect(send("failed_permanent")).toHaveLength(0)
    wait(1)
    const [probe, ...more] = send("delivered")
    expect([probe !== undefined, more.length]).toEqual([true, 0])
    // Set free, and its four attempts are made.
    expect(send()).toHaveLength(0)
    wait(7_000)
    expect(send().length).toBeGreaterThan(0)
  })

  it("§3.5 gives back what was loaded before its rate was lowered, and sends at once when it is lifted", () => {
    const { dispatcher, send, state } = limited({ a: { requests: 9, perSeconds: 3_600 } })
    dispatcher.intake.add(rows("a", 9))
    const picked = dispatcher.pick(2)
    dispatcher.rateLimits.hold(
      picked,
      picked.map(() => null)
    )
    dispatcher.makeReady(picked.flatMap((row) => dispatcher.loaded(row, content, 0) ?? []))
    state.limits = { a: HOUR }
    // Another load tells of it.
    dispatcher.rateLimits.read(dispatcher.rateLimits.hold(picked.slice(0, 1), [HOUR]), [{ agesMs: [] }], 0)
    const started = [dispatcher.start(0, true), dispatcher.start(0, true)]
    expect(started.map((one) => one !== undefined)).toEqual([true, false])
    dispatcher.rateLimits.start(started[0]!.row, 0)
    expect(send()).toHaveLength(0)

    state.limits = { a: null }
    dispatcher.endpointChanged("a", 0, 0)
    expect(send().length).toBeGreaterThan(0)
  })

  it("§3.5 keeps its permits of the lane until they are recorded, unless its rate is fast", () => {
    for (const [limit, most] of [
      [{ requests: 600, perSeconds: 60 }, 10],
      [{ requests: 600, perSeconds: 1 }, 30]
    ] as const) {
      const { dispatcher, state } = limited({ a: limit }, { endpointConcurrency: 30 })
      dispatcher.intake.add(rows("a", 200))
      let begun = 0
      for (let round = 0; round < 8; round++) {
        dispatcher.intake.add(rows("a", 1))
        const picked = dispatcher.pick(100)
        dispatcher.rateLimits.read(
          dispatcher.rateLimits.hold(
            picked,
            picked.map(() => limit)
          ),
          [{ agesMs: [] }],
          state.now
        )
        dispatcher.makeReady(picked.flatMap((row) => dispatcher.loaded(row, content, state.now) ?? []))
        for (let one = dispatcher.start(0, true); one !== undefined; one = dispatcher.start(0, true)) {
          dispatcher.rateLimits.start(one.row, 0)
          begun++
          const seen = { httpStatus: 200, failureReason: null, durationMs: 1, responseBody: null }
          dispatcher.settle(one, seen, { status: "delivered" } as Observed, "faster")
        }
      }
      if (most === 10) expect(begun).toBe(10)
      else expect(begun).toBeGreaterThan(100)
    }
  })
})
