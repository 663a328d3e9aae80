/**
 * Answers that are kept under a caller's idempotency key, so that the same call again gives the same answer.
 *
 * An answer is kept in the transaction of the change itself: there is no moment at which one is stored without the other.
 * While that transaction runs, an advisory lock on the key tells others so without making them wait. Answers that hold a
 * secret are kept sealed, and erased after ten minutes. Source: decision §10 (`Idempotency-Key`).
 */

import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { Effect, Either, Schema } from "effect"
import { Bytes, Count, Headers } from "./internal/Columns.ts"
import { makeWaiting } from "./internal/Waiting.ts"
import { KEYS_KEPT, SEALED_KEPT } from "./Retention.ts"
import { rows } from "./Rows.ts"

/** Whose key it is; keys of different callers or workspaces have nothing to do with each other. */
export interface KeyOwner {
  /** Null for what the operator does outside of workspaces. */
  readonly workspaceId: WorkspaceId | null
  /** A token's id, or `operator`. */
  readonly caller: string
  readonly key: string
}

export const FoundAnswer = Schema.Struct({
  fingerprint: Bytes,
  status: Count,
  headers: Headers,
  body: Schema.NullOr(Schema.String),
  /** The body, sealed; null when it holds no secret, or was erased. */
  sealed: Schema.NullOr(Bytes),
  running: Schema.Boolean
})
export type FoundAnswer = typeof FoundAnswer.Type

export interface KeptAnswer extends Omit<FoundAnswer, "running"> {
  /** How long the call still goes on after its transaction; null when it has ended. */
  readonly runningSeconds: number | null
}

const Claimed = Schema.Struct({ ours: Schema.Boolean })

const HELD = "Another transaction holds what this call needs"

export class IdempotencyRepo extends Effect.Service<IdempotencyRepo>()(
  "@posthorn/persistence/IdempotencyRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const waiting = yield* makeWaiting

      /** One transaction around all of it; repeated as a whole when a statement in it gave up waiting for others. */
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

      /** Until the transaction ends; false when another call with the key is under way. */
      const claim = ({ caller, key, workspaceId }: KeyOwner) =>
        rows(sql, Claimed)`
        select pg_try_advisory_xact_lock(hashtextextended(${`${workspaceId ?? ""} ${caller} ${key}`}, 0)) as ours`.pipe(
          Effect.map((rows) => rows[0]!.ours),
          Effect.orDie
        )

      /** What is kept under the key; a key older than a day is free again. */
      const find = (owner: KeyOwner) =>
        rows(sql, FoundAnswer)`
        select fingerprint, status, headers, body,
          case when created_at > now() - ${SEALED_KEPT}::interval then sealed end as sealed,
          coalesce(running_until > clock_timestamp(), false) as running
        from posthorn.idempotent_answers
        where ${mine(owner)} and created_at > now() - ${KEYS_KEPT}::interval`.pipe(
          Effect.map((rows) => rows[0]),
          Effect.orDie
        )

      const runningUntil = (seconds: number | null) =>
        seconds === null ? sql`null` : sql`clock_timestamp() + ${seconds} * interval '1 second'`

      const keep = (owner: KeyOwner, answer: KeptAnswer) =>
        sql`
        insert into posthorn.idempotent_answers
          (workspace_id, caller, key, fingerprint, status, headers, body, sealed, running_until)
        values (${owner.workspaceId}, ${owner.caller}, ${owner.key}, ${answer.fingerprint}, ${answer.status},
          ${JSON.stringify(answer.headers)}::json, ${answer.body}, ${answer.sealed}, ${runningUntil(answer.runningSeconds)})
        on conflict (workspace_id, caller, key) do update
          set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
              body = excluded.body, sealed = excluded.sealed, running_until = excluded.running_until,
              created_at = excluded.created_at`.pipe(Effect.orDie, Effect.asVoid)

      /** The call went on after its transaction and has ended: this is its answer. */
      const settle = (owner: KeyOwner, body: string) =>
        sql`update posthorn.idempotent_answers set body = ${body}, running_until = null where ${mine(owner)}`.pipe(
          Effect.orDie,
          Effect.asVoid
        )

      return { claim, find, keep, settle, transaction } as const
    })
  }
) {}
