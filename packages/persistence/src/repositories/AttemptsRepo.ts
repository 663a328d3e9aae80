/** Attempts: immutable evidence. `posthorn.record` writes them; they are read here by ordinal. Source: spec §2.3. */

import * as SqlClient from "@effect/sql/SqlClient"
import type { DeliveryId } from "@posthorn/domain/Ids"
import type { Within } from "@posthorn/domain/Principal"
import { AttemptStatus, FailureDetail, FailureReason } from "@posthorn/domain/Verdict"
import { Effect, Option, Schema } from "effect"
import { Count, columnsOf, Headers, Id, Time } from "../client/internal/Columns.ts"
import { all } from "../client/Query.ts"
import { ofEndpoints } from "../client/Within.ts"

export const AttemptRow = Schema.Struct({
  id: Id("attempt"),
  deliveryId: Id("delivery"),
  ordinal: Count,
  status: AttemptStatus,
  at: Time,
  durationMs: Count,
  httpStatus: Schema.NullOr(Count),
  failureReason: Schema.NullOr(FailureReason),
  failureDetail: Schema.NullOr(FailureDetail),
  url: Schema.String,
  requestHeaders: Headers,
  responseHeaders: Headers,
  responseBody: Schema.NullOr(Schema.String),
  traceId: Schema.String
})
export type AttemptRow = typeof AttemptRow.Type

export class AttemptsRepo extends Effect.Service<AttemptsRepo>()(
  "@posthorn/persistence/repositories/AttemptsRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(
        columnsOf(AttemptRow, "", {
          requestHeaders: "request_headers::json",
          responseHeaders: "coalesce(response_headers, '{}')::json"
        })
      )

      const list = (
        caller: Within,
        deliveryId: DeliveryId,
        limit: number,
        from: Option.Option<{ readonly ordinal: number }>
      ) =>
        all(sql, AttemptRow)`
        select ${columns} from posthorn.attempts
        where workspace_id = ${caller.workspaceId} and delivery_id = ${deliveryId}
          ${
            caller.endpointIds === null
              ? sql``
              : sql`and exists (select from posthorn.deliveries d
                  where d.workspace_id = ${caller.workspaceId} and d.id = ${deliveryId} ${ofEndpoints(sql, caller, "d.endpoint_id")})`
          }
          and ordinal > ${Option.match(from, { onNone: () => 0, onSome: ({ ordinal }) => ordinal })}
        order by ordinal limit ${limit + 1}`

      return { list } as const
    })
  }
) {}
