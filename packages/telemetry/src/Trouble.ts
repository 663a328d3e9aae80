/**
 * Logs recurring failures: when they begin, once a minute with a count while they last, and when they are over. So an outage of
 * ten minutes is a dozen lines, not a thousand.
 */
import { Effect, LogLevel } from "effect"
import { elapsedNow } from "./Elapsed.ts"

const AGAIN_MS = 60_000
/** Report recovery after 3 s without a failure: in a partial outage some calls succeed. */
const QUIET_MS = 3_000

export interface Trouble {
  /** Another failure. */
  readonly failed: (why: string) => Effect.Effect<void>
  /**
   * A success. After failures, it logs the recovery once there has been no failure for some seconds. Otherwise it costs
   * nothing.
   */
  readonly over: Effect.Effect<void>
  /** The same, passing a value through: `Effect.flatMap(effect, trouble.passing)`. */
  readonly passing: <A>(outcome: A) => Effect.Effect<A>
}

/** `trouble` and `good` are sentences without a period, such as "The queue cannot be read" and "The queue can be read again". */
export const makeTrouble = (trouble: string, good: string, level = LogLevel.Warning): Trouble => {
  let times = 0
  let since = 0
  let saidAt = 0
  let lastAt = 0
  const tell = (why: string, now: number) => {
    saidAt = now
    const seconds = Math.round((now - since) / 1000)
    const more = times === 1 ? "" : ` (${times} times in ${seconds} s)`
    return Effect.logWithLevel(level, `${trouble}${more}: ${why}`)
  }
  const over = Effect.suspend(() =>
    times === 0
      ? Effect.void
      : Effect.flatMap(elapsedNow, (now) => {
          if (now - lastAt < QUIET_MS) return Effect.void
          const before = times
          times = 0
          return Effect.logInfo(
            `${good}, after ${Math.round((now - since) / 1000)} s and ${before === 1 ? "1 failure" : `${before} failures`}`
          )
        })
  )
  return {
    failed: (why) =>
      Effect.flatMap(elapsedNow, (now) => {
        if (times === 0) since = now
        times += 1
        lastAt = now
        return times === 1 || now - saidAt >= AGAIN_MS ? tell(why, now) : Effect.void
      }),
    over,
    passing: (outcome) => (times === 0 ? Effect.succeed(outcome) : Effect.as(over, outcome))
  }
}

/** The failure in one line: the messages of an error and of its causes, without a stack. */
export const reasonOf = (error: unknown): string => {
  const said: Array<string> = []
  for (let at = error; at instanceof Error && said.length < 5; at = at.cause)
    if (at.message !== "" && !said.includes(at.message)) said.push(at.message)
  return said.length === 0 ? String(error) : said.join(": ")
}

/** Reports each failure and success of an effect to `trouble`, without changing the outcome. */
export const reporting =
  (trouble: Trouble) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.tapBoth(effect, {
      onFailure: (error) => trouble.failed(reasonOf(error)),
      onSuccess: () => trouble.over
    })
