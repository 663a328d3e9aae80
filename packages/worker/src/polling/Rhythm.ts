/**
 * When the Poller polls again: its state, and the one function that computes the next state from it and the last poll's result.
 *
 *            finds come often (less than `wakeGapMs` apart), or nobody listens, or shards changed
 *    Asleep ────────────────────────────────────────────────────────────────────────────────────► Awake
 *       ▲   publishers notify: a poll for each         polls: a pause is `pauseLeastMs` while it     │
 *       │   notification that names no delivery,       finds something, and grows with the quiet     │
 *       │   when something is due, each `pollMs`                                                     │
 *       └──────────────────────────────────────────────────────────────────────────────────────────┘
 *            quiet for `restMs`, or finds three times as far apart, and the sleep locks of all shards were to be had
 *
 * While events are rare, notifications cost less than an awake worker's polls. But PostgreSQL commits transactions that notify one
 * after another. So a worker that finds something a hundred times a second is notified; one that finds something three hundred times
 * a second polls.
 *
 * Plain data without a clock: moments are monotonic milliseconds. The rhythm affects only latency, never whether a row is
 * found.
 */
import type { TuningValues } from "../Tuning.ts"

interface Finds {
  /** The mean time between finds. */
  readonly gapMs: number
  readonly foundAt: number
  /** Since this moment nothing was found, and no publishing transaction has begun or ended. */
  readonly quietSince: number
}

export interface Asleep extends Finds {
  readonly _tag: "Asleep"
}

export interface Awake extends Finds {
  readonly _tag: "Awake"
  readonly pauseMs: number
  /** It has been quiet long enough, or finds are rare enough, to fall asleep. */
  readonly maySleep: boolean
}

export type State = Asleep | Awake

export interface Seen {
  readonly at: number
  /** The poll found something new. */
  readonly found: boolean
  /** A publishing transaction has begun or ended. */
  readonly transactionsChanged: boolean
  /** Notifications are heard. */
  readonly hears: boolean
  /** The shards have changed since the last time. */
  readonly shardsChanged: boolean
  /** This worker holds the sleep locks of all its shards. */
  readonly locked: boolean
}

type Constants = Pick<
  TuningValues,
  "gapMostMs" | "wakeGapMs" | "pauseLeastMs" | "openPollMs" | "notListeningPollMs" | "restMs" | "pollsPerFind"
>

/** The weight of the newest value in the moving average. */
const WEIGHT = 1 / 32

export const beginning = (at: number, { gapMostMs }: Constants): State => ({
  _tag: "Awake",
  gapMs: gapMostMs,
  foundAt: at,
  quietSince: at,
  pauseMs: 0,
  maySleep: false
})

export const next = (state: State, seen: Seen, constants: Constants): State => {
  const { notListeningPollMs, gapMostMs, openPollMs, pauseLeastMs, pollsPerFind, restMs, wakeGapMs } =
    constants
  const passed = Math.min(seen.at - state.foundAt, gapMostMs)
  const gapMs = seen.found ? state.gapMs + (passed - state.gapMs) * WEIGHT : state.gapMs
  const foundAt = seen.found ? seen.at : state.foundAt
  const quietSince = seen.found || seen.transactionsChanged || seen.shardsChanged ? seen.at : state.quietSince
  const finds = { gapMs, foundAt, quietSince }
  const staysAsleep = state._tag === "Asleep" && seen.hears && !seen.shardsChanged && gapMs > wakeGapMs
  const quiet = seen.at - quietSince
  const maySleep =
    seen.hears && !seen.shardsChanged && (quiet >= restMs || gapMs > 2 * wakeGapMs + pauseLeastMs)
  if (staysAsleep || (seen.locked && maySleep)) return { _tag: "Asleep", ...finds }
  const pause = Math.max(Math.min(gapMs, gapMostMs / pollsPerFind), quiet) / pollsPerFind
  return {
    _tag: "Awake",
    ...finds,
    pauseMs: Math.max(pauseLeastMs, Math.min(pause, seen.hears ? openPollMs : notListeningPollMs)),
    maySleep
  }
}
