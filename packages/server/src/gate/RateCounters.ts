/**
 * Counts calls per key in fixed windows: the first call opens a window, and the window ends `windowMs` later.
 *
 * Two counters: this process's own, and Redis's (`RedisCounters.ts`). Not `@effect/experimental`'s limiter, which was
 * tried: its window grows by one refill per call, so a quota of 5 in 10 s let 6 calls through in 2 s; its memory store
 * forgets no key; its Redis store sends fractional lifetimes, which Redis refuses. Not `lru-cache`: whoever calls from many
 * addresses would push out the windows that are still open. Source: spec §8.1, ADR 0004.
 */
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { type Clock, Context, Effect, Layer } from "effect"

export interface Count {
  /** Calls in this window, this one included. */
  readonly count: number
  /** Until the window ends. */
  readonly leftMs: number
}

export interface Counters {
  /** Counts one call. */
  readonly hit: (key: string, windowMs: number) => Effect.Effect<Count>
}

export class RateCounters extends Context.Tag("@posthorn/server/RateCounters")<RateCounters, Counters>() {}

/** Keys kept at most: some 20 MB. Beyond, ended windows go, and then the oldest. */
export const MAX_KEYS = 100_000

interface Window {
  count: number
  /** By the clock that only goes forward: a wall clock that is set back would keep it open for as long. */
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
