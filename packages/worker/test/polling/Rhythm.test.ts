/** When the Poller polls again, computed from its state and the last result: no clock, no database. */
import { assert, describe, it } from "@effect/vitest"
import { beginning, next, type Seen, type State } from "../../src/polling/Rhythm.ts"
import { tuned } from "../../src/Tuning.ts"

const seen = (at: number, more: Partial<Seen> = {}): Seen => ({
  at,
  polled: true,
  found: false,
  transactionsChanged: false,
  hears: true,
  shardsChanged: false,
  locked: false,
  othersLock: false,
  atOnce: false,
  untilDueMs: Number.POSITIVE_INFINITY,
  ...more
})

const after = (state: State, ...all: ReadonlyArray<Seen>): State =>
  all.reduce((now, one) => next(now, one, tuned), state)

/** Finds something `count` times, `gapMs` apart. */
const finds = (state: State, count: number, gapMs: number, more: Partial<Seen> = {}): State =>
  after(
    state,
    ...Array.from({ length: count }, (_, n) =>
      seen(state.foundAt + (n + 1) * gapMs, { found: true, ...more })
    )
  )

const asleep = after(beginning(0, tuned), seen(tuned.restMs, { locked: true }))
const pauseOf = (state: State) => state.pollAt - state.polledAt

describe("the rhythm of the poller", () => {
  it("§3.1 falls asleep once it is quiet and it holds all sleep locks, and not before", () => {
    const busy = finds(beginning(0, tuned), 400, 3)
    const early = after(busy, seen(busy.foundAt + tuned.restMs - 1, { locked: true }))
    const unlocked = after(busy, seen(busy.foundAt + tuned.restMs))

    assert.strictEqual(early._tag, "Awake")
    assert.isTrue(unlocked._tag === "Awake" && unlocked.maySleep)
    assert.strictEqual(asleep._tag, "Asleep")
  })

  it("§3.1 is notified of five, twenty and a hundred events a second, and polls for five hundred", () => {
    const tag = (gapMs: number) => finds(asleep, 400, gapMs, { locked: true })._tag

    assert.deepStrictEqual([200, 50, 10, 2].map(tag), ["Asleep", "Asleep", "Asleep", "Awake"])
  })

  it("§3.1 falls asleep when finds become rare, even without a quiet moment", () => {
    const busy = finds(beginning(0, tuned), 400, 3)

    const rare = 2 * tuned.wakeGapMs + tuned.pauseLeastMs + 1
    assert.strictEqual(finds(busy, 400, rare, { locked: true })._tag, "Asleep")
    // The pause itself is part of each gap.
    assert.strictEqual(finds(busy, 400, tuned.wakeGapMs + tuned.pauseLeastMs, { locked: true })._tag, "Awake")
  })

  it("§3.1 wakes when nobody listens any more, and when its shards change", () => {
    assert.strictEqual(after(asleep, seen(1_000, { hears: false }))._tag, "Awake")
    assert.strictEqual(after(asleep, seen(1_000, { locked: true, shardsChanged: true }))._tag, "Awake")
    assert.strictEqual(after(asleep, seen(60_000, { locked: true }))._tag, "Asleep")
  })

  it("§3.1 polls a few times for each event, and ever less while nothing comes", () => {
    const busy = finds(beginning(0, tuned), 400, 15)
    const pauses = [0, 30, 60].map((quiet) => pauseOf(after(busy, seen(busy.foundAt + quiet))))

    assert.approximately(pauses[0]!, 15 / tuned.pollsPerFind, 0.1)
    assert.deepStrictEqual(pauses.slice(1), [30 / tuned.pollsPerFind, 60 / tuned.pollsPerFind])
    assert.strictEqual(pauseOf(finds(busy, 100, 1)), tuned.pauseLeastMs)
  })

  it("§3.1 pauses longer when it is quiet and nobody listens than when a transaction keeps it awake", () => {
    const quiet = beginning(0, tuned)

    assert.strictEqual(pauseOf(after(quiet, seen(60_000))), tuned.openPollMs)
    assert.strictEqual(pauseOf(after(quiet, seen(60_000, { hears: false }))), tuned.notListeningPollMs)
    assert.isBelow(pauseOf(after(quiet, seen(60_000, { transactionsChanged: true }))), tuned.openPollMs)
  })
})
