/**
 * Events from SQL that are not judged by the catalogue yet, read from a position of each workspace. An event's id is older than its
 * commit, so a position never passes a moment at which a transaction was open that is still open: `Horizon`.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { EventId } from "@posthorn/domain/Ids"
import { Context, Effect, Layer, Schema } from "effect"
import { Count, Id } from "../client/internal/Columns.ts"
import { rows } from "../client/Rows.ts"
import type { Deviation, JudgedType } from "../repositories/EventTypesRepo.ts"

/** Events that one step reads, and bytes of payloads. */
const STEP = 1_000
const STEP_BYTES = 4_194_304

/** A moment as an id of events, the transactions that had begun, and those that are open now. */
const Moment = Schema.Struct({ id: Schema.String, begun: Count, openFrom: Count })

const Waiting = Schema.Struct({
  workspaceId: Id("workspace"),
  past: Schema.String,
  /** As it is stored. */
  position: Schema.NullOr(Schema.String)
})
/** A workspace with events past its position. */
export type Waiting = typeof Waiting.Type

const Unjudged = Schema.Struct({
  id: Id("event"),
  eventType: Schema.String,
  /** Null: not to be judged. */
  payload: Schema.NullOr(Schema.String)
})
export type Unjudged = typeof Unjudged.Type

const Moved = Schema.Struct({ moved: Schema.Boolean })

/** Of these moments the newest since which all transactions that were open have ended. */
export class Horizon {
  private moments: Array<typeof Moment.Type> = []

  at(now: typeof Moment.Type): string | undefined {
    const passed = this.moments.filter(({ begun }) => begun <= now.openFrom).at(-1)
    // Of those that are not passed some are enough: a transaction may stay open for hours.
    this.moments = this.moments.filter(({ begun }) => begun >= (passed?.begun ?? 0)).slice(-MOST_MOMENTS)
    this.moments.push(now)
    return passed?.id
  }
}

const MOST_MOMENTS = 60

export class UnjudgedEvents extends Context.Tag("@posthorn/persistence/engine/UnjudgedEvents")<
  UnjudgedEvents,
  {
    readonly moment: Effect.Effect<typeof Moment.Type, SqlError>
    /** By id, past `from`. */
    readonly workspaces: (
      from: string,
      since: string,
      horizon: string,
      most: number
    ) => Effect.Effect<ReadonlyArray<Waiting>, SqlError>
    /** The next events, in their order; judged or not, they are passed. */
    readonly next: (
      waiting: Waiting,
      horizon: string,
      types: ReadonlyArray<JudgedType>
    ) => Effect.Effect<ReadonlyArray<Unjudged>, SqlError>
    /** Moves the position and counts what did not fit, unless another worker has moved it. */
    readonly judged: (
      waiting: Waiting,
      upTo: EventId,
      deviations: ReadonlyArray<Deviation>
    ) => Effect.Effect<boolean, SqlError>
  }
>() {}

export const layer: Layer.Layer<UnjudgedEvents, never, SqlClient.SqlClient> = Layer.effect(
  UnjudgedEvents,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    moment: Effect.map(
      rows(sql, Moment)`select posthorn.id_at('evt_', clock_timestamp() - interval '2 seconds') as id,
        pg_snapshot_xmax(s)::text::bigint as begun, pg_snapshot_xmin(s)::text::bigint as "openFrom"
        from pg_current_snapshot() as s`,
      ([row]) => row!
    ),
    workspaces: (from, since, horizon, most) =>
      rows(sql, Waiting)`select workspace_id as "workspaceId", past, stored as "position"
        from posthorn.workspaces_to_judge(${from}, ${since}, ${horizon}, ${most})`,
    next: ({ past, workspaceId }, horizon, types) =>
      rows(
        sql,
        Unjudged
      )`select id, event_type as "eventType", payload from posthorn.events_to_judge(${workspaceId}, ${past},
        ${horizon}, ${types.map(({ eventType }) => eventType)}::text[], ${types.map(({ since }) => since)}::text[], ${STEP},
        ${STEP_BYTES})`,
    judged: ({ position, workspaceId }, upTo, deviations) =>
      Effect.map(
        rows(sql, Moved)`select posthorn.move_judged(${workspaceId}, ${position}, ${upTo},
          ${deviations.map(({ eventType }) => eventType)}::text[], ${deviations.map(({ eventId }) => eventId)}::text[]) as moved`,
        ([row]) => row!.moved
      )
  }))
)
