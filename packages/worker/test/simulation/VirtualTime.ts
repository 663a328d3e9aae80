/**
 * Time and randomness of the simulation: a clock that jumps to the next scheduled action, a scheduler that runs fibers in a
 * fixed order, and a seeded random number generator. So a run of minutes takes milliseconds, and a seed always gives the
 * same history. (TestClock waits for real milliseconds at each step.)
 */
import { Clock, Duration, Effect, Logger, LogLevel, Random, Scheduler } from "effect"

interface Timer {
  readonly at: number
  readonly order: number
  readonly run: () => void
  cancelled: boolean
}

export class VirtualTime {
  now = Date.UTC(2026, 0, 1)
  readonly start = this.now
  private order = 0
  private readonly timers: Array<Timer> = []
  private readonly scheduler = new Scheduler.ControlledScheduler()

  /** Runs `run` after this many milliseconds; gives the way to cancel it. */
  after(milliseconds: number, run: () => void): () => void {
    const timer = { at: this.now + Math.max(0, milliseconds), order: this.order++, run, cancelled: false }
    push(this.timers, timer)
    return () => {
      timer.cancelled = true
    }
  }

  readonly clock: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: () => this.now,
    unsafeCurrentTimeNanos: () => BigInt(Math.round(this.now * 1e6)),
    currentTimeMillis: Effect.sync(() => this.now),
    currentTimeNanos: Effect.sync(() => BigInt(Math.round(this.now * 1e6))),
    sleep: (duration) =>
      Effect.async((resume) => {
        const cancel = this.after(Duration.toMillis(duration), () => resume(Effect.void))
        return Effect.sync(cancel)
      })
  }

  /** The clock of a machine that is this many milliseconds off: what it shows, not how fast it runs. */
  clockOff(off: () => number): Clock.Clock {
    const wall = () => this.now + off()
    return { ...this.clock, unsafeCurrentTimeMillis: wall, currentTimeMillis: Effect.sync(wall) }
  }

  /** Starts a fiber under this clock. */
  fork<A, E>(effect: Effect.Effect<A, E>, seed: string, clock = this.clock) {
    return Effect.runFork(
      effect.pipe(
        Effect.withClock(clock),
        Effect.withRandom(Random.make(seed)),
        Effect.provide(Logger.minimumLogLevel(LogLevel.None))
      ),
      { scheduler: this.scheduler }
    )
  }

  /** Runs everything that happens within this many milliseconds. */
  run(milliseconds: number): void {
    const end = this.now + milliseconds
    for (;;) {
      while (this.scheduler.tasks.buckets.length > 0) this.scheduler.step()
      const next = this.timers[0]
      if (next === undefined || next.at > end) break
      pop(this.timers)
      if (next.cancelled) continue
      this.now = Math.max(this.now, next.at)
      next.run()
    }
    this.now = end
  }
}

const before = (a: Timer, b: Timer) => a.at < b.at || (a.at === b.at && a.order < b.order)

/** A binary heap, earliest first. */
const push = (heap: Array<Timer>, timer: Timer): void => {
  let child = heap.push(timer) - 1
  while (child > 0) {
    const parent = (child - 1) >> 1
    if (!before(heap[child]!, heap[parent]!)) return
    swap(heap, child, parent)
    child = parent
  }
}

const pop = (heap: Array<Timer>): void => {
  const last = heap.pop()!
  if (heap.length === 0) return
  heap[0] = last
  let parent = 0
  for (;;) {
    let least = parent
    for (const child of [2 * parent + 1, 2 * parent + 2]) {
      if (child < heap.length && before(heap[child]!, heap[least]!)) least = child
    }
    if (least === parent) return
    swap(heap, least, parent)
    parent = least
  }
}

const swap = (heap: Array<Timer>, a: number, b: number): void => {
  const held = heap[a]!
  heap[a] = heap[b]!
  heap[b] = held
}

export interface Chance {
  /** From 0 to below 1. */
  readonly number: () => number
  readonly below: (n: number) => number
  readonly between: (from: number, to: number) => number
  /** Log-uniform: as often between 1 and 10 as between 10 and 100. */
  readonly magnitude: (from: number, to: number) => number
  readonly happens: (probability: number) => boolean
  readonly oneOf: <A>(items: ReadonlyArray<A>) => A
}

/** mulberry32. */
export const makeChance = (seed: number): Chance => {
  let state = seed >>> 0
  const number = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const below = (n: number) => Math.floor(number() * n)
  return {
    number,
    below,
    between: (from, to) => from + number() * (to - from),
    magnitude: (from, to) => from * (to / from) ** number(),
    happens: (probability) => number() < probability,
    oneOf: (items) => items[below(items.length)]!
  }
}
