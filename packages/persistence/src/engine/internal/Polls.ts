/**
 * A poll: what became due past where shards were read. It says up to when it looked, in which shards it stopped before, and
 * which transactions may still commit rows behind that. What follows from these is the Poller's. A poll takes nothing, and
 * waits for nothing.
 */
import type { DeliveryId } from "@posthorn/domain/Ids"
import { Effect, Schema } from "effect"
import { Count } from "../../client/internal/Columns.ts"
import { plain, type RowOf, type Run, rowOf, statement } from "../../client/Prepared.ts"
import { type DueRow, dueRows, RUN, type Runs } from "./DueRows.ts"

/** How far a shard has been read: everything up to this row was seen, if it was visible then. */
export interface Cursor {
  readonly shard: number
  readonly due: number
  readonly deliveryId: DeliveryId
}

/** A transaction that has published to a shard and may still commit. */
export interface Open {
  readonly transaction: string
  readonly shard: number
}

export interface Due {
  /** The time up to which the statement looked. */
  readonly horizon: number
  /** Those that were open then: what they commit is not among the rows. Nor is what was published within the millisecond. */
  readonly open: ReadonlyArray<Open>
  readonly rows: ReadonlyArray<DueRow>
  /** Shards in which it stopped before that, having looked at as many rows as it may: each with the last one. */
  readonly stopped: ReadonlyArray<Cursor>
}

/** The same columns tell where was looked; without a shard, up to when, and what was open then. */
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
  marks: ReadonlyArray<Cursor>,
  skip: ReadonlyArray<string>,
  perShard: number,
  scanLimit: number
) =>
  Effect.map(
    run(DUE, [
      plain(marks, (mark) => mark.shard),
      plain(marks, (mark) => mark.due),
      plain(marks, (mark) => `"${mark.deliveryId}"`),
      plain(skip, (id) => id),
      perShard,
      scanLimit
    ]),
    (runs): Due => {
      let horizon = 0
      let open: ReadonlyArray<Open> = []
      const stopped: Array<Cursor> = []
      for (const [, , shard, , , , text, due] of runs.filter(isPosition)) {
        if (shard !== null) stopped.push({ shard, deliveryId: text, due: Number(due) })
        else [horizon, open] = [Number(due), openOf(text)]
      }
      return { horizon, open, rows: dueRows(runs.filter(isRun)), stopped }
    }
  )
