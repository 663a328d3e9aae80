/**
 * Helpers that all statements of this package share.
 *
 * A statement that fails is a defect: callers cannot do anything about an unreachable database, and the edge of each program
 * turns the defect into an answer. Refusals by the database itself (SQLSTATE PH4xx, a unique index) are recognised here
 * only.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import type { TimePosition } from "@posthorn/domain/Page"
import { Effect, Option } from "effect"

export const UNIQUE_VIOLATION = "23505"
const FOREIGN_KEY_VIOLATION = "23503"
export const LOCK_NOT_AVAILABLE = "55P03"

export interface SqlProblem {
  readonly code?: string
  readonly message: string
  readonly hint?: string
  readonly constraint?: string
}

export const sqlProblemOf = (error: SqlError): SqlProblem =>
  error.cause instanceof Error ? (error.cause as SqlProblem) : { message: String(error.cause) }

/** The statement waited for another transaction as long as `lock_timeout` allows. */
export const isLockTimeout = (error: SqlError): boolean => sqlProblemOf(error).code === LOCK_NOT_AVAILABLE

/** Whether another transaction was in the way, so that the statement may succeed when it is repeated. */
export const isInTheWay = (code: string | undefined): boolean => /^(55P03|40001|40P01)$/.test(code ?? "")

/** For the rest of the transaction, waits for other transactions end after two seconds, with 55P03. */
export const boundedWait = (sql: SqlClient) => sql`select set_config('lock_timeout', '2s', true)`

type Refusals = Readonly<Record<string, (problem: SqlProblem) => unknown>>
type RefusalOf<T extends Refusals> = ReturnType<T[keyof T]>

/** Turns failures with one of these SQLSTATEs into refusals; every other failure is a defect. */
export const refusing =
  <T extends Refusals>(refusals: T) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, Exclude<E, SqlError> | RefusalOf<T>, R> =>
    Effect.catchAll(self, (error): Effect.Effect<never, Exclude<E, SqlError> | RefusalOf<T>> => {
      if (!(error instanceof SqlError)) return Effect.fail(error as Exclude<E, SqlError>)
      const refusal = refusals[sqlProblemOf(error).code ?? ""]
      return refusal === undefined
        ? Effect.die(error)
        : Effect.fail(refusal(sqlProblemOf(error)) as RefusalOf<T>)
    })

/**
 * The end of a query: newest first by (created_at, id), strictly past the position, and one row more than the page holds.
 */
export const newestFirst = (sql: SqlClient, limit: number, from: Option.Option<TimePosition>) =>
  sql`${Option.match(from, {
    onNone: () => sql`true`,
    onSome: ({ at, id }) => sql`(created_at, id) < (${at}::timestamptz, ${id}::text)`
  })} order by created_at desc, id desc limit ${limit + 1}`

/** The same for a list in ascending order of id. */
export const byIdAfter = (sql: SqlClient, limit: number, from: Option.Option<{ readonly id: string }>) =>
  sql`id > ${Option.match(from, { onNone: () => "", onSome: ({ id }) => id })} order by id limit ${limit + 1}`

/** The same for a list in descending order of id. */
export const byIdBefore = (sql: SqlClient, limit: number, from: Option.Option<{ readonly id: string }>) =>
  sql`${Option.match(from, {
    onNone: () => sql`true`,
    onSome: ({ id }) => sql`id < ${id}`
  })} order by id desc limit ${limit + 1}`

/**
 * SQLSTATE classes and codes that mean: the database is unreachable, shutting down, read-only, full, or its disk fails; try
 * again later. 28 and 3D000 belong here too: while a password is being changed or a database restored, nobody can log in,
 * and observations must not be given up for that. XX (damage found while a row was read) does not: only statements on that
 * row fail, and others must not wait for it.
 */
const AWAY = /^(08|28|3D000|53|57P0|58|25006|55P03|40001|40P01|57014)/

/**
 * PostgreSQL's codes have five characters of these classes. Other codes (ECONNRESET, CERT_HAS_EXPIRED) mean that it did not
 * answer.
 */
const SQLSTATE = /^[0-9FHPX][0-9A-Z]{4}$/

export const isDatabaseAway = (defect: unknown): boolean => {
  if (!(defect instanceof SqlError)) return false
  const { code } = sqlProblemOf(defect)
  return code === undefined || !SQLSTATE.test(code) || AWAY.test(code)
}

/** Whether this defect is a row for a workspace that was just deleted, while its token was still cached. */
export const isWorkspaceGone = (defect: unknown): boolean => {
  if (!(defect instanceof SqlError)) return false
  const { code, constraint } = sqlProblemOf(defect)
  return code === FOREIGN_KEY_VIOLATION && (constraint?.endsWith("_workspace_id_fkey") ?? false)
}

export interface Times {
  readonly since?: string | undefined
  readonly until?: string | undefined
}

/**
 * Rows created between these times, selected by id, whose order is that of `created_at`. Ids go one millisecond further,
 * because `until` may lie within the millisecond to which `created_at` is cut.
 */
export const madeBetween = (
  sql: SqlClient,
  prefix: "evt_" | "whd_",
  row: Fragment,
  { since, until }: Times
) =>
  sql.and([
    ...(since === undefined
      ? []
      : [
          sql`${row}.created_at >= ${since}::timestamptz
            and ${row}.id >= posthorn.id_at(${prefix}, ${since}::timestamptz)`
        ]),
    ...(until === undefined
      ? []
      : [
          sql`${row}.created_at < ${until}::timestamptz
            and ${row}.id < posthorn.id_at(${prefix}, ${until}::timestamptz + interval '1 millisecond')`
        ])
  ])
