/**
 * What this package's statements have in common.
 *
 * A failing statement is a defect: callers cannot do anything about an unavailable database, and the edge of each program turns
 * the defect into its own kind of answer. Only this file recognises refusals that the database itself makes (SQLSTATE PH4xx, a
 * unique index).
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import type { TimePosition } from "@posthorn/domain/Page"
import { Effect, Option } from "effect"

export const UNIQUE_VIOLATION = "23505"
const FOREIGN_KEY_VIOLATION = "23503"
export const LOCK_NOT_AVAILABLE = "55P03"

/** PostgreSQL's report of a failed statement. */
export interface SqlProblem {
  readonly code?: string
  readonly message: string
  readonly hint?: string
  readonly constraint?: string
}

export const problemOf = (error: SqlError): SqlProblem =>
  error.cause instanceof Error ? (error.cause as SqlProblem) : { message: String(error.cause) }

/** The statement waited for another transaction until `lock_timeout`. */
export const isLockTimeout = (error: SqlError): boolean => problemOf(error).code === LOCK_NOT_AVAILABLE

/** Whether another transaction was in the way: a retry may succeed. */
export const isInTheWay = (code: string | undefined): boolean => /^(55P03|40001|40P01)$/.test(code ?? "")

/** For the rest of the transaction, waiting for other transactions fails after two seconds, with 55P03. */
export const boundedWait = (sql: SqlClient) => sql`select set_config('lock_timeout', '2s', true)`

type Refusals = Readonly<Record<string, (problem: SqlProblem) => unknown>>
type RefusalOf<T extends Refusals> = ReturnType<T[keyof T]>

/** Turn the failures with one of these SQLSTATEs into refusals; every other failure is a defect. */
export const refusing =
  <T extends Refusals>(refusals: T) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, Exclude<E, SqlError> | RefusalOf<T>, R> =>
    Effect.catchAll(self, (error): Effect.Effect<never, Exclude<E, SqlError> | RefusalOf<T>> => {
      if (!(error instanceof SqlError)) return Effect.fail(error as Exclude<E, SqlError>)
      const refusal = refusals[problemOf(error).code ?? ""]
      return refusal === undefined
        ? Effect.die(error)
        : Effect.fail(refusal(problemOf(error)) as RefusalOf<T>)
    })

/** The end of a query: newest first by (created_at, id), strictly past the position, limited to one row more than the page. */
export const newestFirst = (sql: SqlClient, limit: number, from: Option.Option<TimePosition>) =>
  sql`${Option.match(from, {
    onNone: () => sql`true`,
    onSome: ({ at, id }) => sql`(created_at, id) < (${at}::timestamptz, ${id}::text)`
  })} order by created_at desc, id desc limit ${limit + 1}`

/** The same for a list in ascending order of id. */
export const byIdAfter = (sql: SqlClient, limit: number, from: Option.Option<{ readonly id: string }>) =>
  sql`id > ${Option.match(from, { onNone: () => "", onSome: ({ id }) => id })} order by id limit ${limit + 1}`

/**
 * SQLSTATE classes and codes that mean: try again later, because the database is unreachable, shutting down, read-only, full,
 * or its disk is failing. 28 and 3D000 belong here too: while a password is changed or a database is restored, nobody gets in
 * for a while, and no observation may be given up for that. XX (damage found while reading a row) does not: only statements
 * that touch that row fail, and others must not wait for them.
 */
const AWAY = /^(08|28|3D000|53|57P0|58|25006|55P03|40001|40P01|57014)/

/**
 * PostgreSQL's own codes have five characters. Other codes (ECONNRESET, CERT_HAS_EXPIRED) mean that PostgreSQL did not answer.
 */
const SQLSTATE = /^[0-9FHPX][0-9A-Z]{4}$/

/** Whether this defect means that the database cannot be reached, or cannot serve at the moment. */
export const isDatabaseAway = (defect: unknown): boolean => {
  if (!(defect instanceof SqlError)) return false
  const { code } = problemOf(defect)
  return code === undefined || !SQLSTATE.test(code) || AWAY.test(code)
}

/** Whether this defect is a row for a workspace that was just deleted, while its token was still cached. */
export const isWorkspaceGone = (defect: unknown): boolean => {
  if (!(defect instanceof SqlError)) return false
  const { code, constraint } = problemOf(defect)
  return code === FOREIGN_KEY_VIOLATION && (constraint?.endsWith("_workspace_id_fkey") ?? false)
}

/** A time range for a list of events or deliveries. */
export interface Times {
  /** Created at this time or later. */
  readonly since?: string | undefined
  /** Created before this time. */
  readonly until?: string | undefined
}

/**
 * Rows created between these times, found by id, since ids have the order of `created_at`. The id range ends a millisecond
 * later: `until` may lie within the millisecond to which `created_at` is truncated.
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
