/** Publishing: thin over `posthorn.publish`, the one way an event enters. Source: decision §7. */

import * as SqlClient from "@effect/sql/SqlClient"
import { IdempotencyKeyReused, invalid, WorkspaceNotFound } from "@posthorn/domain/Errors"
import type { EndpointId, MemberId, TokenId, WorkspaceId } from "@posthorn/domain/Ids"
import { Effect } from "effect"
import { columnsOf } from "./internal/Columns.ts"
import { makeSharedPublishes, type NewEvent, type Publish, Published } from "./internal/SharedPublishes.ts"
import { makeWaiting } from "./internal/Waiting.ts"
import { rows } from "./Rows.ts"
import { refusing, type SqlProblem } from "./Statement.ts"

export { type NewEvent, Published }

/** What happens in Posthorn itself, for whoever subscribes to it. Source: decision §4. */
export type OwnEvent =
  | {
      readonly type: "member.added" | "member.removed"
      readonly payload: {
        readonly memberId: MemberId
        readonly email: string
        readonly name: string
        readonly role: string
      }
    }
  | {
      readonly type: "api_token.created"
      readonly payload: {
        readonly tokenId: TokenId
        readonly name: string
        readonly scopes: ReadonlyArray<string>
      }
    }
  | {
      readonly type: "api_token.revoked"
      readonly payload: { readonly tokenId: TokenId; readonly name: string }
    }
  | {
      readonly type: "webhook.endpoint_disabled"
      readonly payload: { readonly endpointId: EndpointId; readonly reason: "manual" }
    }

const KEY_HELD = "Another call or transaction is still publishing with this idempotency key"
const ENDPOINT_HELD = "The workspace, or an endpoint that wants the event, is being deleted"

const refusals = {
  PH400: (problem: SqlProblem) => invalid(problem.hint ?? "", problem.message),
  PH404: () => new WorkspaceNotFound(),
  PH409: () => new IdempotencyKeyReused(),
  // The workspace went while the event was being stored.
  "23503": () => new WorkspaceNotFound()
}

const refusalsOfOne = {
  ...refusals,
  PH413: ({ message }: SqlProblem) =>
    invalid("/eventType", `${message}: only the operator can raise that (LIMIT_FAN_OUT)`)
}

const refusedOne = refusing(refusalsOfOne)

export class EventsRepo extends Effect.Service<EventsRepo>()("@posthorn/persistence/EventsRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(columnsOf(Published))

    const waiting = yield* makeWaiting

    const attempt = (
      workspaceSlug: string,
      events: ReadonlyArray<NewEvent>,
      traceId: string,
      mostDeliveries: number
    ) =>
      rows(sql, Published)`select ${columns} from posthorn.try_publish_events(
        ${workspaceSlug}, ${events.map(({ eventType }) => eventType)}::text[],
        ${events.map(({ payload }) => payload.text)}::text[]::json[],
        ${events.map(({ idempotencyKey }) => idempotencyKey) as Array<string>}::text[], ${traceId},
        ${mostDeliveries}::integer)`

    const keyOf = ({ event, workspaceSlug }: Publish) =>
      event.idempotencyKey === null ? null : `${workspaceSlug} ${event.idempotencyKey}`

    /** Waits for whoever else is publishing with the same key; their commit gives the answer, their rollback frees the key. */
    const publishAlone = (publish: Publish) => {
      const { event, mostDeliveries, traceId, workspaceSlug } = publish
      const key = keyOf(publish)
      return attempt(workspaceSlug, [event], traceId, mostDeliveries).pipe(
        waiting.forOthers(key, key === null ? ENDPOINT_HELD : KEY_HELD),
        Effect.map((rows) => rows[0]!)
      )
    }

    const shared = yield* makeSharedPublishes({
      publish: publishAlone,
      isWaitedFor: (publish) => waiting.isWaitedFor(keyOf(publish))
    })

    /** In one transaction with whatever else is published at this moment, as if it were alone. */
    const publish = (workspaceSlug: string, event: NewEvent, traceId: string, mostDeliveries: number) =>
      refusedOne(shared({ workspaceSlug, event, traceId, mostDeliveries }))

    /** All or nothing; the answers in the order of the events. */
    const publishAll = (
      workspaceSlug: string,
      events: ReadonlyArray<NewEvent>,
      traceId: string,
      mostDeliveries: number
    ) =>
      attempt(workspaceSlug, events, traceId, mostDeliveries).pipe(
        waiting.forOthers(
          null,
          events.some(({ idempotencyKey }) => idempotencyKey !== null) ? KEY_HELD : ENDPOINT_HELD
        ),
        refusing({
          ...refusals,
          PH413: ({ message }) => invalid("/events", `${message}: publish fewer events at once`)
        })
      )

    /** An event of Posthorn itself, in the caller's transaction; never sent to `exceptEndpoint`. */
    const announce = (
      workspaceId: WorkspaceId,
      event: OwnEvent,
      traceId: string,
      exceptEndpoint: string | null = null
    ) =>
      sql`select posthorn.announce(${workspaceId}, ${event.type}, ${JSON.stringify(event.payload)}, ${traceId},
        ${exceptEndpoint})`.pipe(Effect.orDie, Effect.asVoid)

    return { announce, publish, publishAll } as const
  })
}) {}
