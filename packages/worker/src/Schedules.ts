/** Poll intervals and retry delays, by name. A loop that waits for an event uses a `Signal`. */
import { Schedule } from "effect"
import type { TuningValues } from "./Tuning.ts"

export const schedulesOf = ({ loadPauseMs, readPauseMs }: TuningValues) => ({
  readAgain: Schedule.spaced(readPauseMs),
  loadAgain: Schedule.spaced(loadPauseMs)
})

export const recordAgain = Schedule.exponential(100, 2).pipe(
  Schedule.union(Schedule.spaced(5_000)),
  Schedule.jittered
)

export const HEARTBEAT_MS = 1_000
export const heartbeat = Schedule.fixed(HEARTBEAT_MS)
export const shardsAgain = Schedule.spaced(500)
export const listenAgain = Schedule.spaced(1_000)
/** A connection that died silently would otherwise go unnoticed. */
export const pulse = Schedule.spaced("10 seconds")

/** Dead letters that another worker left behind. */
export const deadLettersMs = 5_000
export const housekeeping = Schedule.spaced("1 minute")
export const waitingReplaysMs = 500
/** A job whose notification was lost. */
export const untoldReplaysMs = 5_000
/** Judging of what came from SQL. */
export const judging = Schedule.spaced("5 seconds")
/** Alerts to make and to send. */
export const alerting = Schedule.spaced("5 seconds")
export const drained = Schedule.spaced("20 millis")
