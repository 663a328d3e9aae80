/**
 * Counts calls per key in fixed windows: the first call opens a window, and the window ends `windowMs` later.
 *
 * There are two implementations: in this process, and in Redis (`RedisCounters.ts`). `@effect/experimental`'s limiter was
 * tried: its window grows by one refill per call, so a quota of 5 in 10 s allowed 6 calls in 2 s; its memory store never
 * forgets a key; its Redis store sends fractional lifetimes, which Redis refuses. `lru-cache` does not fit either: a client
 * with many addresses would evict windows that are still open. Source: spec §8.1, ADR 0004.
 */
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { type Clock, Context, Effect, Layer } from "effect"

export interface Count {
  /** Calls in this window, including this one. */
  readonly count: number
  /** Until the window ends. */
  readonly leftMs: number
}

export interface Counters {
  /** Counts one call. */
  readonly hit: (key: string, windowMs: number) => Effect.Effect<Count>
}

export class RateCounters extends Context.Tag("@posthorn/server/RateCounters")<RateCounters, Counters>() {}

/** Most keys, some 20 MB. Beyond that, ended windows are dropped, then the oldest ones. */
export const MAX_KEYS = 100_000

interface Window {
  count: number
  /** By the monotonic clock: setting the wall clock back would extend the window. */
  readonly endsAt: number
}

const makeRoom = (windows: Map<string, Window>, now: number) => {
  for (const [key, { endsAt }] of windows) if (endsAt <= now) windows.delete(key)
  for (const key of windows.keys()) {
    if (windows.size < MAX_KEYS * 0.9) return
    windows.delete(key)
  }
}

/** Counts in this process. */
export const memoryCounters = (clock: Clock.Clock): Counters & { readonly size: () => number } => {
  const windows = new Map<string, Window>()
  return {
    size: () => windows.size,
    hit: (key, windowMs) =>
      Effect.sync(() => {
        const now = elapsed(clock)
        let window = windows.get(key)
        if (window === undefined || window.endsAt <= now) {
          windows.delete(key)
          if (windows.size >= MAX_KEYS) makeRoom(windows, now)
          window = { count: 0, endsAt: now + windowMs }
          windows.set(key, window)
        }
        window.count += 1
        return { count: window.count, leftMs: window.endsAt - now }
      })
  }
}

export const memoryLive: Layer.Layer<RateCounters> = Layer.effect(
  RateCounters,
  Effect.map(Effect.clock, memoryCounters)
)
