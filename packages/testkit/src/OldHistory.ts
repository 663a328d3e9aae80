/**
 * Makes history older than the test. An id contains its moment, which is also `created_at`. So an older row gets another id,
 * and all references to it are changed. This bypasses the triggers that protect evidence.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import type { Fragment } from "@effect/sql/Statement"
import { Duration, Effect } from "effect"

const DELIVERIES = [
  ["deliveries", "id"],
  ["queue", "delivery_id"],
  ["attempts", "delivery_id"],
  ["dead_letters", "delivery_id"],
  ["failed_deliveries", "delivery_id"]
] as const

const EVENTS = [
  ["events", "id"],
  ["deliveries", "event_id"],
  ["missed_events", "event_id"]
] as const

const DATED: ReadonlyArray<string> = ["deliveries.id", "events.id", "failed_deliveries.delivery_id"]

type Names = ReadonlyArray<readonly [table: string, column: string]>

const rename = (names: Names, of: (column: Fragment) => Fragment, newId: (column: Fragment) => Fragment) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.gen(function* () {
      yield* sql`set local session_replication_role = replica`
      for (const [table, name] of names) {
        const column = sql.literal(name)
        const dated = DATED.includes(`${table}.${name}`)
          ? sql`, created_at = posthorn.made_at(${newId(column)})`
          : sql``
        yield* sql`update posthorn.${sql.literal(table)} set ${column} = ${newId(column)}${dated} where ${of(column)}`
      }
    }).pipe(sql.withTransaction)
  )

/** Makes everything published in the workspace older, in the same order. */
export const makeOlder = (workspaceId: string, by: Duration.DurationInput) =>
  Effect.flatMap(SqlClient, (sql) =>
    rename(
      [...DELIVERIES, ...EVENTS],
      () => sql`workspace_id = ${workspaceId}`,
      (column) => sql`left(${column}, 4) || lpad(to_hex(('x' || substr(${column}, 5, 13))::bit(52)::bigint
        - ${Duration.toMillis(by)}::bigint * 1000), 13, '0') || right(${column}, 16)`
    )
  )

/** Makes one delivery as old as if created then; returns its id. */
export const makeAt = (deliveryId: string, moment: Fragment) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [made] = yield* sql<{ id: string }>`
      select posthorn.id_at('whd_', ${moment}) || right(${deliveryId}, 16) as id`
    yield* rename(
      DELIVERIES,
      (column) => sql`${column} = ${deliveryId}`,
      () => sql`${made!.id}`
    )
    return made!.id
  })
