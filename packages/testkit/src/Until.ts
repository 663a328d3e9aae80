/** Waits for the thing itself: asks every 10 ms until the answer is right. A timeout tells the last answer. */
import { type Duration, Effect, Schedule } from "effect"

/** Shortens a wrong answer in the message: the test runner chokes on thousands of values. */
export const seen = (answer: unknown) => ({ stillSees: JSON.stringify(answer)?.slice(0, 500) })

/** Within less than the time between two sweeps of a worker, so that a row that only a sweep finds counts as late. */
const WITHIN = "20 seconds"

export const until = <A, E, R>(
  question: Effect.Effect<A, E, R>,
  right: (answer: A) => boolean,
  within: Duration.DurationInput = WITHIN
) =>
  question.pipe(
    Effect.flatMap((answer) => (right(answer) ? Effect.succeed(answer) : Effect.fail(seen(answer)))),
    Effect.retry(Schedule.spaced("10 millis").pipe(Schedule.intersect(Schedule.recurUpTo(within))))
  )

/** The same of a function. */
export const untilAsked = <A>(
  question: () => A | Promise<A>,
  right: (answer: A) => boolean,
  within?: Duration.DurationInput
): Promise<A> =>
  Effect.runPromise(
    until(
      Effect.promise(async () => question()),
      right,
      within
    )
  )
