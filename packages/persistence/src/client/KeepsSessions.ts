/**
 * Whether a session stays one: a notification reaches its listener. Behind a pooler that pools transactions it does not; a
 * worker's locks would not hold, and statements cannot be prepared.
 */
import { randomUUID } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Deferred, Effect, Option } from "effect"
import { DedicatedConnections } from "./DedicatedConnection.ts"
import { sqlProblemOf } from "./Statement.ts"

const DUPLICATE_PREPARED_STATEMENT = "42P05"
const HEARD_WITHIN = "3 seconds"

export const keepsSessions: Effect.Effect<boolean, SqlError, DedicatedConnections | SqlClient.SqlClient> =
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const connections = yield* DedicatedConnections
    const channel = `posthorn_doctor_${randomUUID().replaceAll("-", "")}`
    const connection = yield* connections.open("posthorn doctor")
    const heard = yield* Deferred.make<void>()
    connection.onNotification(() => Effect.runSync(Deferred.succeed(heard, undefined)))
    yield* connection.query(`listen ${channel}`)
    // Behind such a pooler, the next statement may run on another session.
    yield* Effect.addFinalizer(() => Effect.ignore(connection.query(`unlisten ${channel}`)))
    yield* sql`select pg_notify(${channel}, '')`
    return Option.isSome(yield* Effect.timeoutOption(Deferred.await(heard), HEARD_WITHIN))
  }).pipe(
    Effect.scoped,
    // Another process has prepared this statement on what should be our own session.
    Effect.catchIf(
      (error) => sqlProblemOf(error).code === DUPLICATE_PREPARED_STATEMENT,
      () => Effect.succeed(false)
    )
  )
