/**
 * When the Poller looks again: its state, and the one function that makes the next state of it and of what was seen.
 *
 *            finds come often (less than `wakeGapMs` apart), or nobody listens, or shards changed
 *    Asleep ────────────────────────────────────────────────────────────────────────────────────► Awake
 *       ▲   publishers notify: a poll for each           polls, a few times for each event:          │
 *       │   notification, one when something              a pause is a part of the mean time         │
 *       │   becomes due, one each `pollMs`                between finds, and grows with the quiet    │
 *       └──────────────────────────────────────────────────────────────────────────────────────────┘
 *            quiet for `restMs`, or finds twice as far apart, and the sleep locks of all shards were to be had
 *
 * A notification and the poll that it asks for cost less than the polls of a worker that is awake, as long as there are few.
 * While one commits, no other transaction that notifies can. So a worker that finds something a hundred times a second is
 * notified, and one that does so three hundred times polls.
 *
 * Plain data and no clock: moments are milliseconds that only go forward. Nothing depends on the rhythm but time.
 */
import type { TuningValues } from "../Tuning.ts"

interface Finds {
  /** The mean time between finds. */
  readonly gapMs: number
  readonly foundAt: number
  /** Since when nothing was found, and no transaction that publishes has begun or ended. */
  readonly quietSince: number
}

export interface Asleep extends Finds {
  readonly _tag: "Asleep"
}

export interface Awake extends Finds {
  readonly _tag: "Awake"
  readonly pauseMs: number
  /** It has been quiet for so long, or finds come so seldom, that it may fall asleep. */
  readonly isTired: boolean
}

export type State = Asleep | Awake

export interface Seen {
  readonly at: number
  /** Something new was there. */
  readonly found: boolean
  /** A transaction that publishes has begun or ended. */
  readonly stirred: boolean
  /** Notifications are heard. */
  readonly hears: boolean
  /** The shards are others than the last time. */
  readonly shardsChanged: boolean
  /** The sleep locks of all shards are this worker's. */
  readonly locked: boolean
}

type Constants = Pick<
  TuningValues,
  "gapMostMs" | "wakeGapMs" | "pauseLeastMs" | "openPollMs" | "deafPollMs" | "restMs" | "pollsPerFind"
>

/** The mean moves by this part of what the last time was off. */
const WEIGHT = 1 / 32

export const beginning = (at: number, { gapMostMs }: Constants): State => ({
  _tag: "Awake",
  gapMs: gapMostMs,
  foundAt: at,
  quietSince: at,
  pauseMs: 0,
  isTired: false
})

export const next = (state: State, seen: Seen, constants: Constants): State => {
  const { deafPollMs, gapMostMs, openPollMs, pauseLeastMs, pollsPerFind, restMs, wakeGapMs } = constants
  const passed = Math.min(seen.at - state.foundAt, gapMostMs)
  const gapMs = seen.found ? state.gapMs + (passed - state.gapMs) * WEIGHT : state.gapMs
  const foundAt = seen.found ? seen.at : state.foundAt
  const quietSince = seen.found || seen.stirred || seen.shardsChanged ? seen.at : state.quietSince
  const finds = { gapMs, foundAt, quietSince }
  const staysAsleep = state._tag === "Asleep" && seen.hears && !seen.shardsChanged && gapMs > wakeGapMs
  const quiet = seen.at - quietSince
  const isTired = seen.hears && !seen.shardsChanged && (quiet >= restMs || gapMs > 2 * wakeGapMs)
  if (staysAsleep || (seen.locked && isTired)) return { _tag: "Asleep", ...finds }
  const pause = Math.max(Math.min(gapMs, gapMostMs / pollsPerFind), quiet) / pollsPerFind
  return {
    _tag: "Awake",
    ...finds,
    pauseMs: Math.max(pauseLeastMs, Math.min(pause, seen.hears ? openPollMs : deafPollMs)),
    isTired
  }
}
