import type { RateLimit } from "@posthorn/domain/DeliveryPolicy"
import { describe, expect, it } from "vitest"
import { SlidingWindow } from "../../src/dispatcher/SlidingWindow.ts"
import { Timers } from "../../src/dispatcher/Timers.ts"
import { makeChance } from "../simulation/VirtualTime.ts"

const windowOf = (limit: RateLimit, agesMs: ReadonlyArray<number> = [], underWay = 0, now = 0) => {
  const window = new SlidingWindow("whe_1", limit)
  window.remember({ agesMs }, underWay, now)
  return window
}

describe("a rate", () => {
  it("§3.5 stores starts no closer together than it judged them, unless the database's clock was set back", () => {
    const window = windowOf({ requests: 1, perSeconds: 1 })
    expect(window.dated(0, 100_000)).toBe(100_000)
    // The estimate of the database's clock is 70 ms lower, then 30 ms higher.
    expect(window.dated(1_000, 100_930)).toBe(101_000)
    expect(window.dated(2_000, 102_030)).toBe(102_030)
    expect(window.dated(3_000, 3_000)).toBe(3_000)
  })

  it("§3.5 begins no more attempts in any window than it allows, and not one less", () => {
    const chance = makeChance(1)
    for (let world = 0; world < 200; world++) {
      const limit = { requests: 1 + chance.below(6), perSeconds: 1 + chance.below(3) }
      const window = windowOf(limit)
      const begun: Array<number> = []
      const waiting: Array<number> = []
      for (let now = 0; now < 20_000; now += chance.below(400)) {
        const within = begun.filter((at) => at > now - limit.perSeconds * 1_000).length + waiting.length
        expect(window.take(now)).toBe(within < limit.requests)
        if (within < limit.requests) waiting.push(now)
        if (waiting.length > 0 && chance.happens(0.6)) {
          waiting.shift()
          if (chance.happens(0.2)) window.release()
          else {
            window.start(now)
            begun.push(now)
            if (chance.happens(0.1)) window.undo(begun.pop()!)
          }
        }
      }
    }
  })

  it("§3.5 grants nothing before it has read what was begun, and counts that", () => {
    const window = new SlidingWindow("whe_1", { requests: 2, perSeconds: 10 })
    expect(window.take(0)).toBe(false)

    window.remember({ agesMs: [1_000, 9_000] }, 0, 0)

    expect(window.take(0)).toBe(false)
    // What is recorded may be 1.5 s too early.
    expect(window.opensAt).toBe(2_500)
    expect(window.take(2_499)).toBe(false)
    expect(window.take(2_500)).toBe(true)
    expect(window.take(2_500)).toBe(false)
  })

  it("§3.5 counts as begun just now what this worker itself has begun and not recorded", () => {
    const window = windowOf({ requests: 2, perSeconds: 10 }, [], 2, 500)

    expect(window.take(10_499)).toBe(false)
    expect(window.take(10_500)).toBe(true)
  })

  it("§3.5 keeps nothing but the attempts of its window", () => {
    const window = windowOf({ requests: 10_000, perSeconds: 1 })
    for (let now = 0; now < 100_000; now += 10) {
      window.take(now)
      window.start(now)
    }

    expect(JSON.stringify(window).length).toBeLessThan(5_000)
  })

  it("§3.5 rings each rate's alarm once, in order, with one timer", () => {
    const timers: Array<{ readonly moment: number; readonly run: (now: number) => void }> = []
    const rung: Array<string> = []
    const windowTimers = new Timers(
      (moment, run) => void timers.push({ moment, run }),
      ({ endpointId }) => void rung.push(endpointId)
    )
    const rates = [50, 30, 90, 10, 70, 20].map((moment) => {
      const window = new SlidingWindow(`${moment}`, { requests: 1, perSeconds: 1 })
      windowTimers.set(window, moment)
      windowTimers.set(window, moment)
      return window
    })
    // One for each that came first when it was set.
    expect(timers.map(({ moment }) => moment)).toEqual([50, 30, 10])
    for (let timer = timers.pop(); timer !== undefined; timer = timers.pop()) timer.run(timer.moment)

    expect(rung).toEqual(["10", "20", "30", "50", "70", "90"])
    expect(rates.every(({ timer }) => timer === null)).toBe(true)
  })
})
