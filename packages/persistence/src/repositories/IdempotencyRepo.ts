/**
 * Answers kept under a caller's idempotency key, in the transaction of the change. Meanwhile an advisory lock on the key tells
 * other calls without making them wait. Answers with a secret are sealed, and erased after ten minutes. Source: spec §4.3.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { Effect, Either, Schema } from "effect"
import { Bytes, Count, Headers } from "../client/internal/Columns.ts"
import { makeLockWaits } from "../client/internal/LockWaits.ts"
import { execute, first, one } from "../client/Query.ts"

export const KEYS_KEPT = "24 hours"
/** How long an answer that contains a secret is given again. Source: spec §4.3. */
export const SEALED_KEPT = "10 minutes"

/** The owner of a key; keys of different callers or workspaces are independent. */
export interface KeyOwner {
  /** Null for the operator's calls outside of workspaces. */
  readonly workspaceId: WorkspaceId | null
  /** The id of a token or of a console session, or `operator`. */
  readonly caller: string
  readonly key: string
}

export const FoundAnswer = Schema.Struct({
  fingerprint: Bytes,
  status: Count,
  headers: Headers,
  body: Schema.NullOr(Schema.String),
  /** The sealed body; null when it contains no secret, or was erased. */
  sealed: Schema.NullOr(Bytes),
  running: Schema.Boolean
})
export type FoundAnswer = typeof FoundAnswer.Type

interface KeptAnswer extends Omit<FoundAnswer, "running"> {
  /** How long the call may go on after its transaction; null when it has ended. */
  readonly runningSeconds: number | null
}

const Claimed = Schema.Struct({ ours: Schema.Boolean })

const HELD = "Another transaction holds what this call needs"

export class IdempotencyRepo extends Effect.Service<IdempotencyRepo>()(
  "@posthorn/persistence/repositories/IdempotencyRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const waiting = yield* makeLockWaits

      /** Repeated as a whole when a statement gave up waiting for others. */
      const transaction = <A, E, R>(self: Effect.Effect<A, E, R>) =>
        Effect.either(sql.withTransaction(self)).pipe(
          Effect.catchAllDefect((defect) =>
            defect instanceof SqlError ? Effect.fail(defect) : Effect.die(defect)
          ),
          Effect.flatMap((outcome) =>
            Either.isLeft(outcome) && outcome.left instanceof SqlError
              ? Effect.fail(outcome.left)
              : Effect.succeed(outcome as Either.Either<A, Exclude<E, SqlError>>)
          ),
          waiting.forOthers(null, HELD),
          Effect.catchAll((error) => (error instanceof SqlError ? Effect.die(error) : Effect.fail(error))),
          Effect.flatten
        )

      const mine = ({ caller, key, workspaceId }: KeyOwner) =>
        workspaceId === null
          ? sql`workspace_id is null and caller = ${caller} and key = ${key}`
          : sql`workspace_id = ${workspaceId} and caller = ${caller} and key = ${key}`

      /** Locks the key until the transaction ends; false when another call with it is under way. */
      const claim = ({ caller, key, workspaceId }: KeyOwner) =>
        Effect.map(
          one(sql, Claimed)`
        select pg_try_advisory_xact_lock(hashtextextended(${`${workspaceId ?? ""} ${caller} ${key}`}, 0)) as ours`,
          ({ ours }) => ours
        )

      /** The answer kept under the key; a key older than a day is free again. */
      const find = (owner: KeyOwner) =>
        first(sql, FoundAnswer)`
        select fingerprint, status, headers, body,
          case when created_at > now() - ${SEALED_KEPT}::interval then sealed end as sealed,
          coalesce(running_until > clock_timestamp(), false) as running
        from posthorn.idempotent_answers
        where ${mine(owner)} and created_at > now() - ${KEYS_KEPT}::interval`

      const runningUntil = (seconds: number | null) =>
        seconds === null ? sql`null` : sql`clock_timestamp() + ${seconds} * interval '1 second'`

      const keep = (owner: KeyOwner, answer: KeptAnswer) =>
        execute(sql)`
        insert into posthorn.idempotent_answers
          (workspace_id, caller, key, fingerprint, status, headers, body, sealed, running_until)
        values (${owner.workspaceId}, ${owner.caller}, ${owner.key}, ${answer.fingerprint}, ${answer.status},
          ${JSON.stringify(answer.headers)}::json, ${answer.body}, ${answer.sealed}, ${runningUntil(answer.runningSeconds)})
        on conflict (workspace_id, caller, key) do update
          set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
              body = excluded.body, sealed = excluded.sealed, running_until = excluded.running_until,
              created_at = excluded.created_at`

      const settle = (owner: KeyOwner, body: string) =>
        execute(
          sql
        )`update posthorn.idempotent_answers set body = ${body}, running_until = null where ${mine(owner)}`

      return { claim, find, keep, settle, transaction } as const
    })
  }
) {}
