/**
 * When the Poller polls next: `next` computes the next state and the moment of the next poll, from the last state and what was
 * seen. No other code changes either.
 *
 *            finds come often (less than `wakeGapMs` apart), or nobody listens, or shards changed
 *    Asleep ────────────────────────────────────────────────────────────────────────────────────► Awake
 *       ▲   publishers notify: a poll for each         polls: a pause is `pauseLeastMs` while it     │
 *       │   notification that names no delivery,       finds something, and grows with the quiet     │
 *       │   when something is due, each `pollMs`                                                     │
 *       └──────────────────────────────────────────────────────────────────────────────────────────┘
 *            quiet for `restMs`, or finds three times as far apart; and all sleep locks are taken
 *
 * While events are rare, notifications cost less than an awake worker's polls. But PostgreSQL commits transactions that notify one
 * after another. So a worker that finds something a hundred times a second is notified; one that finds something three hundred times
 * a second polls.
 *
 * Plain data without a clock: moments are monotonic milliseconds. The rhythm affects only latency, never whether a row is
 * found.
 */
import type { TuningValues } from "../Tuning.ts"

export interface State {
  readonly _tag: "Asleep" | "Awake"
  readonly gapMs: number
  readonly foundAt: number
  /** Nothing was found, and no publishing transaction began or ended. */
  readonly quietSince: number
  readonly polledAt: number
  readonly maySleep: boolean
  /** Awake, the Poller takes news only then. */
  readonly pollAt: number
}

export interface Seen {
  readonly at: number
  readonly polled: boolean
  readonly found: boolean
  readonly transactionsChanged: boolean
  readonly atOnce: boolean
  readonly hears: boolean
  readonly shardsChanged: boolean
  readonly locked: boolean
  /** Another session has some of them, and may end unnoticed. */
  readonly othersLock: boolean
  /** As far as it is known; infinity while memory is full. */
  readonly untilDueMs: number
}

type Constants = Pick<
  TuningValues,
  | "gapMostMs"
  | "wakeGapMs"
  | "pauseLeastMs"
  | "openPollMs"
  | "notListeningPollMs"
  | "restMs"
  | "pollsPerFind"
  | "pollMs"
>

/** Of the newest value in the moving average. */
const WEIGHT = 1 / 32

export const beginning = (at: number, { gapMostMs }: Constants): State => ({
  _tag: "Awake",
  gapMs: gapMostMs,
  foundAt: at,
  quietSince: at,
  polledAt: at,
  maySleep: false,
  pollAt: at
})

export const next = (state: State, seen: Seen, constants: Constants): State => {
  const { gapMostMs, pauseLeastMs, restMs, wakeGapMs } = constants
  const { at, atOnce, found, hears, locked, polled, shardsChanged, transactionsChanged } = seen
  const passed = Math.min(at - state.foundAt, gapMostMs)
  const gapMs = found ? state.gapMs + (passed - state.gapMs) * WEIGHT : state.gapMs
  const quietSince = found || transactionsChanged || shardsChanged ? at : state.quietSince
  const isQuiet = at - quietSince >= restMs || gapMs > 2 * wakeGapMs + pauseLeastMs
  const maySleep = hears && !shardsChanged && isQuiet
  const staysAsleep = state._tag === "Asleep" && hears && !shardsChanged && gapMs > wakeGapMs
  const asleep = staysAsleep || (locked && maySleep)
  const polledAt = polled ? at : state.polledAt
  const until = asleep
    ? asleepUntil(polledAt, seen, constants)
    : awakeUntil(gapMs, quietSince, seen, constants)
  return {
    _tag: asleep ? "Asleep" : "Awake",
    gapMs,
    foundAt: found ? at : state.foundAt,
    quietSince,
    polledAt,
    maySleep: maySleep || asleep,
    pollAt: atOnce ? at : until
  }
}

const asleepUntil = (
  polledAt: number,
  { at, othersLock, untilDueMs }: Seen,
  constants: Constants
): number => {
  const most = othersLock ? constants.notListeningPollMs : constants.pollMs
  return Math.max(at, Math.min(polledAt + most, at + untilDueMs))
}

const awakeUntil = (gapMs: number, quietSince: number, seen: Seen, constants: Constants): number => {
  const { gapMostMs, notListeningPollMs, openPollMs, pauseLeastMs, pollsPerFind } = constants
  const gap = Math.max(Math.min(gapMs, gapMostMs / pollsPerFind), seen.at - quietSince)
  const most = seen.hears ? openPollMs : notListeningPollMs
  const pause = Math.max(pauseLeastMs, Math.min(gap / pollsPerFind, most))
  return seen.at + Math.max(1, Math.min(pause, seen.untilDueMs))
}
