/**
 * Writing down what came of attempts, and marking spent deliveries.
 *
 * `record` takes everything that finished since the last call, in the order it finished, and writes it in one
 * transaction. Calling it again with the same observations changes nothing, so a call whose answer was lost is simply
 * repeated. What is written and why: migrations/0003_record.sql. Source: spec §2.3 and §3.1, decision §7.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { PgClient } from "@effect/sql-pg/PgClient"
import type { AttemptStatus, FailureReason } from "@posthorn/domain/Verdict"
import { Context, Effect, Layer } from "effect"
import { Prepared, plain, layer as prepared, quoted } from "./Prepared.ts"

/** One attempt, judged. */
export interface Observed {
  readonly workspaceId: string
  readonly deliveryId: string
  readonly endpointId: string
  readonly generation: number
  readonly ordinal: number
  readonly attemptId: string
  readonly status: AttemptStatus
  /** When it began, in milliseconds since 1970; its seconds are what was signed. */
  readonly at: number
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly failureReason: FailureReason | null
  /** The value of `webhook-signature`; null when no request was made, or when what was sent shall not be kept. */
  readonly signature: string | null
  readonly responseBody: string | null
  /** Where it was sent. */
  readonly url: string
  /** A JSON object; null for none. */
  readonly responseHeaders: string | null
  readonly retryAfterMs: number | null
  readonly exhausted: boolean
}

export interface Recorded {
  /** Observations that were the first of their ordinal; the others changed nothing. */
  readonly recorded: number
  readonly deadLettered: number
  /** Endpoints that this call disabled. */
  readonly disabled: ReadonlyArray<string>
  /** What `retryAfterMs` counts from, in microseconds since 1970. */
  readonly moment: number
}

export class Records extends Context.Tag("@posthorn/persistence/Records")<
  Records,
  {
    /** Each delivery at most once. `fixedHeaders` is a JSON object: what every request carried besides the four headers of its own. */
    readonly record: (
      observed: ReadonlyArray<Observed>,
      fixedHeaders: string,
      failureLimit: number
    ) => Effect.Effect<Recorded, SqlError>
    /** Endpoints of which `record` would have to wait for a row that somebody holds. Waits for nothing itself. */
    readonly held: (observed: ReadonlyArray<Observed>) => Effect.Effect<ReadonlySet<string>, SqlError>
    /** The dead-letter consumer: marks up to `batch` spent deliveries terminal; gives how many. */
    readonly bury: (batch: number) => Effect.Effect<number, SqlError>
  }
>() {}

interface Arrived {
  readonly one: Observed
  readonly arrival: number
}

/** In the order in which rows are locked. */
const inOrder = (observed: ReadonlyArray<Observed>): ReadonlyArray<Arrived> =>
  observed
    .map((one, arrival) => ({ one, arrival }))
    .sort((a, b) => (a.one.deliveryId < b.one.deliveryId ? -1 : a.one.deliveryId > b.one.deliveryId ? 1 : 0))

const RECORD = `select * from posthorn.record(${Array.from({ length: 20 }, (_, n) => `$${n + 1}`).join(", ")})`

const columns = (observed: ReadonlyArray<Arrived>) => [
  plain(observed, ({ one }) => one.workspaceId),
  plain(observed, ({ one }) => one.deliveryId),
  plain(observed, ({ one }) => one.endpointId),
  plain(observed, ({ one }) => one.generation),
  plain(observed, ({ one }) => one.ordinal),
  plain(observed, ({ one }) => one.attemptId),
  plain(observed, ({ one }) => one.status),
  plain(observed, ({ one }) => one.at),
  plain(observed, ({ one }) => one.durationMs),
  plain(observed, ({ one }) => one.httpStatus),
  plain(observed, ({ one }) => one.failureReason),
  quoted(observed, ({ one }) => one.signature),
  quoted(observed, ({ one }) => one.responseBody),
  plain(observed, ({ one }) => one.retryAfterMs),
  plain(observed, ({ one }) => one.exhausted),
  quoted(observed, ({ one }) => one.url),
  quoted(observed, ({ one }) => one.responseHeaders),
  plain(observed, ({ arrival }) => arrival)
]

/** The call of `posthorn.record`, for whoever makes it in a transaction of their own. */
export const recording = (observed: ReadonlyArray<Observed>, fixedHeaders: string, failureLimit: number) => ({
  text: RECORD,
  values: [...columns(inOrder(observed)), fixedHeaders, failureLimit]
})

export const layer: Layer.Layer<Records, never, SqlClient.SqlClient | PgClient> = Layer.effect(
  Records,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { run } = yield* Prepared
    return {
      record: (observed, fixedHeaders, failureLimit) => {
        const { text, values } = recording(observed, fixedHeaders, failureLimit)
        return Effect.map(run("posthorn.record", text, values), ([row]) => {
          const [recorded, deadLettered, disabled, moment] = row as [number, number, Array<string>, number]
          return { recorded, deadLettered, disabled, moment }
        })
      },
      held: (observed) =>
        Effect.map(
          run("posthorn.held", "select * from posthorn.held($1, $2, $3, $4)", [
            plain(observed, (one) => one.workspaceId),
            plain(observed, (one) => one.deliveryId),
            plain(observed, (one) => one.endpointId),
            plain(observed, (one) => one.status)
          ]),
          (rows) => new Set(rows.map(([endpointId]) => endpointId as string))
        ),
      bury: (batch) =>
        Effect.map(sql<{ buried: number }>`select posthorn.bury(${batch}) as buried`, ([row]) => row!.buried)
    }
  })
).pipe(Layer.provide(prepared))
