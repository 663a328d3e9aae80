import type { RateLimit } from "@posthorn/domain/DeliveryPolicy"
import { describe, expect, it } from "vitest"
import { Rate } from "../../src/dispatcher/SlidingWindow.ts"
import { Timers } from "../../src/dispatcher/Timers.ts"
import { makeChance } from "../simulation/VirtualTime.ts"

const rateOf = (limit: RateLimit, agesMs: ReadonlyArray<number> = [], underWay = 0, now = 0) => {
  const rate = new Rate("whe_1", limit)
  rate.remember({ agesMs }, underWay, now)
  return rate
}

describe("a rate", () => {
  it("§3.5 begins no more attempts in any window than it allows, and not one less", () => {
    const chance = makeChance(1)
    for (let world = 0; world < 200; world++) {
      const limit = { requests: 1 + chance.below(6), perSeconds: 1 + chance.below(3) }
      const rate = rateOf(limit)
      const begun: Array<number> = []
      const waiting: Array<number> = []
      for (let now = 0; now < 20_000; now += chance.below(400)) {
        const within = begun.filter((at) => at > now - limit.perSeconds * 1_000).length + waiting.length
        expect(rate.take(now)).toBe(within < limit.requests)
        if (within < limit.requests) waiting.push(now)
        if (waiting.length > 0 && chance.happens(0.6)) {
          waiting.shift()
          if (chance.happens(0.2)) rate.giveBack()
          else {
            rate.begin(now)
            begun.push(now)
            if (chance.happens(0.1)) rate.undo(begun.pop()!)
          }
        }
      }
    }
  })

  it("§3.5 grants nothing before it has read what was begun, and counts that", () => {
    const rate = new Rate("whe_1", { requests: 2, perSeconds: 10 })
    expect(rate.take(0)).toBe(false)

    rate.remember({ agesMs: [1_000, 9_000] }, 0, 0)

    expect(rate.take(0)).toBe(false)
    // What is recorded may be 1.5 s too early.
    expect(rate.opensAt).toBe(2_500)
    expect(rate.take(2_499)).toBe(false)
    expect(rate.take(2_500)).toBe(true)
    expect(rate.take(2_500)).toBe(false)
  })

  it("§3.5 counts as begun just now what this worker itself has begun and not recorded", () => {
    const rate = rateOf({ requests: 2, perSeconds: 10 }, [], 2, 500)

    expect(rate.take(10_499)).toBe(false)
    expect(rate.take(10_500)).toBe(true)
  })

  it("§3.5 keeps nothing but the attempts of its window", () => {
    const rate = rateOf({ requests: 10_000, perSeconds: 1 })
    for (let now = 0; now < 100_000; now += 10) {
      rate.take(now)
      rate.begin(now)
    }

    expect(JSON.stringify(rate).length).toBeLessThan(5_000)
  })

  it("§3.5 rings each rate's alarm once, in order, with one timer", () => {
    const timers: Array<{ readonly moment: number; readonly run: (now: number) => void }> = []
    const rung: Array<string> = []
    const alarms = new Timers(
      (moment, run) => void timers.push({ moment, run }),
      ({ endpointId }) => void rung.push(endpointId)
    )
    const rates = [50, 30, 90, 10, 70, 20].map((moment) => {
      const rate = new Rate(`${moment}`, { requests: 1, perSeconds: 1 })
      alarms.set(rate, moment)
      alarms.set(rate, moment)
      return rate
    })
    // One for each that came first when it was set.
    expect(timers.map(({ moment }) => moment)).toEqual([50, 30, 10])
    for (let timer = timers.pop(); timer !== undefined; timer = timers.pop()) timer.run(timer.moment)

    expect(rung).toEqual(["10", "20", "30", "50", "70", "90"])
    expect(rates.every(({ alarm }) => alarm === null)).toBe(true)
  })
})
