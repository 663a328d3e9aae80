/** Attempts: immutable evidence, written by `posthorn.record`, read here by ordinal. Source: spec §2.3. */

import * as SqlClient from "@effect/sql/SqlClient"
import type { AttemptId, DeliveryId, WorkspaceId } from "@posthorn/domain/Ids"
import type { FailureReason } from "@posthorn/domain/Verdict"
import { Effect, Option } from "effect"

export interface AttemptRow {
  readonly id: AttemptId
  readonly deliveryId: DeliveryId
  readonly ordinal: number
  readonly status: "delivered" | "failed" | "failed_permanent"
  readonly at: string
  readonly durationMs: number
  readonly httpStatus: number | null
  readonly failureReason: FailureReason | null
  readonly url: string
  readonly requestHeaders: Record<string, string>
  readonly responseHeaders: Record<string, string>
  readonly responseBody: string | null
  readonly traceId: string
}

export class AttemptsRepo extends Effect.Service<AttemptsRepo>()("@posthorn/persistence/AttemptsRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const list = (
      workspaceId: WorkspaceId,
      deliveryId: DeliveryId,
      limit: number,
      from: Option.Option<{ readonly ordinal: number }>
    ) =>
      sql<AttemptRow>`
        select id, delivery_id as "deliveryId", ordinal, status, at, duration_ms as "durationMs",
          http_status as "httpStatus", failure_reason as "failureReason", url, request_headers::json as "requestHeaders",
          coalesce(response_headers, '{}')::json as "responseHeaders",
          response_body as "responseBody", trace_id as "traceId"
        from posthorn.attempts
        where workspace_id = ${workspaceId} and delivery_id = ${deliveryId}
          and ordinal > ${Option.match(from, { onNone: () => 0, onSome: ({ ordinal }) => ordinal })}
        order by ordinal limit ${limit + 1}`.pipe(Effect.orDie)

    return { list } as const
  })
}) {}
