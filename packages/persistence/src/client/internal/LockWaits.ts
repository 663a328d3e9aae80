/**
 * Waiting for what another transaction holds, without a connection.
 *
 * A statement that gives up early (55P03) is made again, with growing pauses in between, until it goes through or
 * `PATIENCE` is over. Whatever many callers wait for, and however long, no more than `PROBES` connections are busy with
 * making statements again; and callers that would wait for the same thing queue up in memory behind the first of them.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { held, type ServiceUnavailable } from "@posthorn/domain/Errors"
import { Duration, Effect, Option, Schedule } from "effect"
import { isLockTimeout } from "../Statement.ts"
import { makeKeyedSemaphores } from "./KeyedSemaphores.ts"

const PROBES = 2

/** Shorter than the server's deadline for an answer (15 s), so that the caller is told why. */
const PATIENCE = Duration.seconds(14)

const pauses = Schedule.exponential("50 millis").pipe(Schedule.union(Schedule.spaced("1 second")))

export const makeLockWaits = Effect.map(Effect.makeSemaphore(PROBES), (probes) => {
  const turns = makeKeyedSemaphores(1)

  /** `name` is what is waited for, where that is known; `why` is told to a caller who has waited for too long. */
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
      // Within a transaction nothing can be made again after a failure: whoever began it does, all of it.
      return Effect.flatMap(Effect.serviceOption(SqlClient.TransactionConnection), (transaction) =>
        Option.isSome(transaction) ? attempt : waited
      )
    }

  /** Whether callers wait for this: whoever comes now is to wait with them. */
  const isWaitedFor = (name: string | null) => name !== null && turns.isUsed(name)

  return { forOthers, isWaitedFor } as const
})
