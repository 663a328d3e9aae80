/**
 * A poll: rows that became due past the read cursors, the time of the read (the horizon), where the read of a shard stopped earlier,
 * and transactions that may commit behind the cursors. A poll writes nothing and waits for nothing.
 */
import type { DeliveryId } from "@posthorn/domain/Ids"
import { Effect, Schema } from "effect"
import { Count } from "../../client/internal/Columns.ts"
import { plain, type RowOf, type Run, rowOf, statement } from "../../client/PreparedStatements.ts"
import { type DatabaseMicros, databaseMicros } from "../DatabaseMicros.ts"
import { type DueRow, dueRows, RUN, type Runs } from "./DueRows.ts"

/** Every row up to this one was seen, if it was visible. */
export interface Cursor {
  readonly shard: number
  readonly due: DatabaseMicros
  readonly deliveryId: DeliveryId
}

export interface Open {
  readonly transaction: string
  readonly shard: number
}

export interface Due {
  readonly horizon: DatabaseMicros
  /** The read lacks rows that these transactions commit, and rows that were published within the horizon's millisecond. */
  readonly open: ReadonlyArray<Open>
  readonly rows: ReadonlyArray<DueRow>
  readonly stopped: ReadonlyArray<Cursor>
}

/** With a shard, how far it was read; without one, the time and the open transactions. */
const POSITION = [
  ["workspace_id", Schema.Null],
  ["endpoint_id", Schema.Null],
  ["shard", Schema.NullOr(Count)],
  ["attempts", Schema.Null],
  ["claims", Schema.Null],
  ["at_once", Schema.Null],
  ["delivery_ids", Schema.String],
  ["dues", Schema.String]
] as const
type Position = RowOf<typeof POSITION>

const DUE = {
  ...statement("posthorn.due($1, $2, $3, $4, $5, $6)", RUN),
  row: Schema.Union(rowOf(RUN), rowOf(POSITION))
}

const isPosition = (run: Runs | Position): run is Position => run[1] === null
const isRun = (run: Runs | Position): run is Runs => run[1] !== null

const openOf = (text: string): ReadonlyArray<Open> =>
  text === ""
    ? []
    : text.split(",").map((one) => {
        const [transaction = "", shard] = one.split(" ")
        return { transaction, shard: Number(shard) }
      })

export const due = (
  run: Run,
  cursors: ReadonlyArray<Cursor>,
  skip: ReadonlyArray<string>,
  perShard: number,
  scanLimit: number
) =>
  Effect.map(
    run(DUE, [
      plain(cursors, (cursor) => cursor.shard),
      plain(cursors, (cursor) => cursor.due),
      plain(cursors, (cursor) => `"${cursor.deliveryId}"`),
      plain(skip, (id) => id),
      perShard,
      scanLimit
    ]),
    (runs): Due => {
      let horizon = databaseMicros(0)
      let open: ReadonlyArray<Open> = []
      const stopped: Array<Cursor> = []
      for (const [, , shard, , , , text, due] of runs.filter(isPosition)) {
        if (shard !== null) stopped.push({ shard, deliveryId: text, due: databaseMicros(Number(due)) })
        else [horizon, open] = [databaseMicros(Number(due)), openOf(text)]
      }
      return { horizon, open, rows: dueRows(runs.filter(isRun)), stopped }
    }
  )
