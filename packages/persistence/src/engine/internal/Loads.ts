/**
 * What an attempt needs, read just before it: payload, event type and endpoint. The worker decides how long it may be used.
 */
import type { EndpointId } from "@posthorn/domain/Ids"
import { Effect } from "effect"
import { plain, type Run, statement } from "../../client/PreparedStatements.ts"
import type { DueRow } from "./DueRows.ts"
import { type DispatchEndpoint, type KnownEndpoints, LOADED, type LoadedRow } from "./KnownEndpoints.ts"

export interface Content {
  readonly eventType: string
  readonly payload: string
  readonly traceId: string
  /** True also for a replay of a test send. */
  readonly isTest: boolean
  /** Null when the endpoint's requests cannot show it. */
  readonly createdAt: string | null
  readonly endpoint: DispatchEndpoint
  /** Recorded attempts of the endpoint in a row that were not delivered. */
  readonly failures: number
  /** False: the attempt is the only one. */
  readonly retry: boolean
}

/** The payload is large, and to be read by itself. */
export interface WithoutPayload extends Omit<Content, "payload"> {
  readonly payload: null
}

export type Found = Content | WithoutPayload | null

const LOAD = statement("posthorn.load($1, $2, $3, $4, $5)", LOADED)

const contentOf = (
  known: KnownEndpoints,
  endpointId: EndpointId,
  row: LoadedRow
): Content | WithoutPayload => ({
  eventType: row[1],
  payload: row[2],
  traceId: row[3],
  isTest: row[4],
  createdAt: row[5],
  endpoint: known.now(endpointId, row),
  failures: row[6],
  retry: row[7]
})

export const load = (run: Run, known: KnownEndpoints, rows: ReadonlyArray<DueRow>) =>
  Effect.map(
    run(LOAD, [
      plain(rows, (row) => row.workspaceId),
      plain(rows, (row) => row.deliveryId),
      plain(rows, (row) => row.endpointId),
      plain(rows, (row) => row.attempts),
      plain(rows, (row) => known.version(row.endpointId))
    ]),
    (found) => {
      const contents: Array<Found> = new Array(rows.length).fill(null)
      for (const row of found) contents[row[0] - 1] = contentOf(known, rows[row[0] - 1]!.endpointId, row)
      return contents
    }
  )
