/**
 * The engine's schedules: poll intervals and retry delays, by name. A loop that waits for something to happen sleeps on a
 * `Wake` of the hub instead.
 */
import { Schedule } from "effect"
import type { State } from "./loops/Rhythm.ts"
import type { TuningValues } from "./Tuning.ts"

/** Polls while the Poller is awake, each time after the pause that its state tells (loops/Rhythm.ts). */
export const whileAwake = Schedule.recurWhile<State>(({ _tag }) => _tag === "Awake").pipe(
  Schedule.addDelay((state) => (state._tag === "Awake" ? state.pauseMs : 0))
)

/** With the engine's constants. */
export const schedulesOf = ({ loadPauseMs, readPauseMs }: TuningValues) => ({
  /** Polls again after a statement of the Poller failed. */
  readAgain: Schedule.spaced(readPauseMs),
  /** Loads again after that failed. */
  loadAgain: Schedule.spaced(loadPauseMs)
})

/** Records again while the database is away and observations are kept: soon at first, then every 5 s. */
export const recordAgain = Schedule.exponential(100, 2).pipe(
  Schedule.union(Schedule.spaced(5_000)),
  Schedule.jittered
)

export const BEAT_MS = 1_000
/** Shows that this worker is there, and asks who else is. */
export const beat = Schedule.fixed(BEAT_MS)
/** Opens the connection that holds the shards again. */
export const shardsAgain = Schedule.spaced(500)
/** Opens the connection that listens again. */
export const listenAgain = Schedule.spaced(1_000)
/** Asks whether the listener's connection lives: a dead one without a sign would leave us deaf without knowing. */
export const pulse = Schedule.spaced("10 seconds")

/** Looks for dead letters that another worker left behind; a full batch is followed by another at once. */
export const deadLettersMs = 5_000
/** Looks for history and secrets that have become old. */
export const housekeeping = Schedule.spaced("1 minute")
/** Looks at replay jobs that wait for room. */
export const waitingReplaysMs = 500
/** Looks for a job that nobody told of: its worker died, or the notification was lost. */
export const untoldReplaysMs = 5_000
/** Asks whether everything in flight is over, so that a shard can be given back, or the worker stop. */
export const drained = Schedule.spaced("20 millis")
