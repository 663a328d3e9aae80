/**
 * Waits for locks of other transactions without holding a connection.
 *
 * A statement that gives up early (55P03) is repeated, with growing pauses, until it succeeds or `PATIENCE` is over. However
 * many callers wait and however long, at most `PROBES` connections are busy with repeats. Callers that would wait for the
 * same thing queue in memory behind the first of them.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { held, type ServiceUnavailable } from "@posthorn/domain/Errors"
import { Duration, Effect, Option, Schedule } from "effect"
import { makeKeyedSemaphores } from "../KeyedSemaphores.ts"
import { isLockTimeout } from "../Statement.ts"

const PROBES = 2

/** Shorter than the server's deadline for an answer (15 s), so that the caller learns the reason. */
const PATIENCE = Duration.seconds(14)

const pauses = Schedule.exponential("50 millis").pipe(Schedule.union(Schedule.spaced("1 second")))

export const makeLockWaits = Effect.map(Effect.makeSemaphore(PROBES), (probes) => {
  const turns = makeKeyedSemaphores()

  /**
   * `name` is what the statement waits for, if that is known. A caller that has waited too long gets `why` as the reason.
   */
  const forOthers =
    (name: string | null, why: string) =>
    <A, R>(attempt: Effect.Effect<A, SqlError, R>): Effect.Effect<A, SqlError | ServiceUnavailable, R> => {
      const again = probes
        .withPermits(1)(attempt)
        .pipe(Effect.delay("50 millis"), Effect.retry({ schedule: pauses, while: isLockTimeout }))
      const patient = Effect.catchIf(attempt, isLockTimeout, () => again)
      const waited = (name === null ? patient : turns.withPermit(name)(patient)).pipe(
        Effect.timeoutFail({ duration: PATIENCE, onTimeout: () => held(why) })
      )
      // A statement in a transaction cannot be repeated after a failure. The code that began the transaction repeats all of
      // it.
      return Effect.flatMap(Effect.serviceOption(SqlClient.TransactionConnection), (transaction) =>
        Option.isSome(transaction) ? attempt : waited
      )
    }

  /** Whether callers wait for this name, so that a new caller must queue behind them. */
  const isWaitedFor = (name: string | null) => name !== null && turns.isUsed(name)

  return { forOthers, isWaitedFor } as const
})
