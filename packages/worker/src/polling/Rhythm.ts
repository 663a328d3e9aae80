/**
 * Decides when the Poller polls. From the last state and what was seen, `next` computes a new state, with the moment of the
 * following poll. Only this file changes the state and that moment.
 *
 *   to Awake   finds come less than `wakeGapMs` apart, or nothing listens, or shards changed
 *   to Asleep  nothing was found for `restMs`, or finds come more than 12 ms apart; and all sleep locks are held
 *   Asleep     it polls for a notification that names no delivery, when a row becomes due, and after `pollMs`
 *   Awake      it polls after `pauseLeastMs` while polls find rows; the longer they find none, the later
 *
 * While events are rare, notifications cost less than an awake worker's polls. But PostgreSQL commits notifying transactions one
 * at a time. So an asleep worker stays asleep at a hundred finds a second, and wakes at three hundred.
 *
 * Plain data without a clock: moments are monotonic milliseconds. The rhythm affects only latency, never whether a row is
 * found.
 */
import type { TuningValues } from "../Tuning.ts"

export interface State {
  readonly _tag: "Asleep" | "Awake"
  readonly gapMs: number
  readonly foundAt: number
  /** Since then nothing was found, and no publishing transaction began or ended. */
  readonly quietSince: number
  readonly polledAt: number
  readonly maySleep: boolean
  /** While it is awake, the Poller looks at its inbox only at this moment. */
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
  /** Another session holds some of the sleep locks. It may end without notice. */
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
