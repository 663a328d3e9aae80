/**
 * The engine's schedules: poll intervals and retry delays, by name. A loop that waits for something to happen waits for a
 * `Signal` instead.
 */
import { Schedule } from "effect"
import type { TuningValues } from "./Tuning.ts"

/** With the engine's constants. */
export const schedulesOf = ({ loadPauseMs, readPauseMs }: TuningValues) => ({
  /** Polls again after a statement of the Poller failed. */
  readAgain: Schedule.spaced(readPauseMs),
  /** Loads again after a load failed. */
  loadAgain: Schedule.spaced(loadPauseMs)
})

/** Retries recording while the database is unavailable: soon at first, then every 5 s. */
export const recordAgain = Schedule.exponential(100, 2).pipe(
  Schedule.union(Schedule.spaced(5_000)),
  Schedule.jittered
)

export const HEARTBEAT_MS = 1_000
/** The heartbeat: shows that this worker is alive, and asks which others are. */
export const heartbeat = Schedule.fixed(HEARTBEAT_MS)
/** Opens the connection that holds the shards again. */
export const shardsAgain = Schedule.spaced(500)
/** Opens the connection that listens again. */
export const listenAgain = Schedule.spaced(1_000)
/** Checks the listener's connection. One that died silently would otherwise go unnoticed, and with it all notifications. */
export const pulse = Schedule.spaced("10 seconds")

/** Checks for dead letters that another worker left behind. A full batch is followed by another at once. */
export const deadLettersMs = 5_000
/** Checks for expired history and secrets. */
export const housekeeping = Schedule.spaced("1 minute")
/** Checks whether waiting replay jobs have room to go on. */
export const waitingReplaysMs = 500
/** Checks for a job without a notification: its worker died, or the notification was lost. */
export const untoldReplaysMs = 5_000
/** Checks whether nothing is in flight any more, so that a shard can be given back or the worker can stop. */
export const drained = Schedule.spaced("20 millis")
