/**
 * When the engine's loops do again what they do again and again, and what has failed: each rhythm by its name. What is done
 * when something happens waits for a signal of the hub instead, and how soon the Reader polls is for Alertness.ts to say.
 */
import { Schedule } from "effect"
import type { TuningValues } from "./Tuning.ts"

/** With the engine's constants. */
export const schedulesOf = ({ loadPauseMs, readPauseMs }: TuningValues) => ({
  /** A statement of the Reader, or of the Loader, failed. */
  readAgain: Schedule.spaced(readPauseMs),
  loadAgain: Schedule.spaced(loadPauseMs)
})

/** The database is away, and observations are kept: soon at first, then every 5 s. */
export const recordAgain = Schedule.exponential(100, 2).pipe(
  Schedule.union(Schedule.spaced(5_000)),
  Schedule.jittered
)

/** A worker shows that it is there, and looks who else is. */
export const beat = Schedule.fixed(1_000)
/** The connection that holds the shards, and the one that listens, are opened again. */
export const shardsAgain = Schedule.spaced(500)
export const listenAgain = Schedule.spaced(1_000)
/** The listener sees that its connection lives: one that is dead without a sign would leave us deaf without knowing. */
export const pulse = Schedule.spaced("10 seconds")

/** Dead letters that another worker left behind are looked for; a full batch is followed by another at once. */
export const buryMs = 5_000
/** History and secrets that have become old are looked for. */
export const housekeeping = Schedule.spaced("1 minute")
/** Replay jobs that wait for room are looked at. */
export const waitingReplaysMs = 500
/** Whether a job runs that nobody told of: its worker died, or the notification was lost. */
export const untoldReplaysMs = 5_000
/** Whether everything in flight is over, and a shard can be given back, or the worker stop. */
export const drained = Schedule.spaced("20 millis")
