/** Publishing: thin over `posthorn.publish`, the one way an event enters. Source: decision §7. */
import * as SqlClient from "@effect/sql/SqlClient"
import { IdempotencyKeyReused, invalid, WorkspaceNotFound } from "@posthorn/domain/Errors"
import type { JsonText } from "@posthorn/domain/JsonText"
import { Effect } from "effect"
import { refusing, type SqlProblem } from "./Statement.ts"

export interface NewEvent {
  readonly eventType: string
  readonly payload: JsonText
  readonly idempotencyKey: string | null
}

export interface Published {
  readonly id: string
  readonly eventType: string
  readonly deliveryIds: ReadonlyArray<string>
  readonly duplicate: boolean
}

const refusals = {
  PH400: (problem: SqlProblem) => invalid(problem.hint ?? "", problem.message),
  PH404: () => new WorkspaceNotFound(),
  PH409: () => new IdempotencyKeyReused(),
  // The workspace went while the event was being stored.
  "23503": () => new WorkspaceNotFound()
}

export class EventsRepo extends Effect.Service<EventsRepo>()("@posthorn/persistence/EventsRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(`id, event_type as "eventType", delivery_ids as "deliveryIds", duplicate`)

    const publish = (workspaceSlug: string, event: NewEvent, traceId: string) =>
      sql<Published>`select ${columns} from posthorn.publish(
        ${workspaceSlug}, ${event.eventType}, ${event.payload.text}::json, ${event.idempotencyKey}, ${traceId})`.pipe(
        Effect.map((rows) => rows[0]!),
        refusing(refusals)
      )

    return { publish } as const
  })
}) {}
