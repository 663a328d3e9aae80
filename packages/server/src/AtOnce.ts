/**
 * Going on at once with what is there already.
 *
 * `Effect.flatMap` gives each step to Effect's runtime, also when the step before it is a plain value. Nearly all that the
 * gate asks is known in memory (the token, the counters), so there the next step is called at once; what has to be waited
 * for is an effect as ever. What is put together with this happens while it is put together: it is called where it is to
 * run, and never kept to be run again.
 */
import { Effect, Exit } from "effect"

export const andThen = <A, E, R, B, E2, R2>(
  self: Effect.Effect<A, E, R>,
  next: (value: A) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E | E2, R | R2> => {
  if (!Exit.isExit(self)) return Effect.flatMap(self, next)
  const exit = self as Exit.Exit<A, E>
  return Exit.isSuccess(exit) ? next(exit.value) : Effect.failCause(exit.cause)
}
