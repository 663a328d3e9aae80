/**
 * Publishing. Single publishes share statements, and so commits: `Batcher` collects those that arrive at the same moment,
 * and `posthorn.try_publish_each` gives each its own outcome. The answer comes after the commit.
 *
 * The shared statement waits only 20 ms for locks of other transactions (a key, an endpoint that is being deleted). A publish that
 * would wait longer is repeated in a statement of its own. Until that has succeeded, every publish that would wait for the same lock
 * is repeated in the same way.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import type { ServiceUnavailable } from "@posthorn/domain/Errors"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import type { JsonText } from "@posthorn/domain/JsonText"
import { nextTurn } from "@posthorn/domain/NextTurn"
import type { Actor } from "@posthorn/domain/Principal"
import { Cause, Effect, Exit, Option, Schema } from "effect"
import { actorText } from "../../client/internal/Actors.ts"
import { columnsOf, Id } from "../../client/internal/Columns.ts"
import { makeLockWaits } from "../../client/internal/LockWaits.ts"
import { makeKeyedSemaphores } from "../../client/KeyedSemaphores.ts"
import { rows } from "../../client/Rows.ts"
import { isDatabaseAway, isInTheWay, sqlProblemOf } from "../../client/Statement.ts"
import { makeBatcher } from "./Batcher.ts"

export interface NewEvent {
  readonly eventType: string
  readonly payload: JsonText
  readonly idempotencyKey: string | null
  /** Those that get it; null: those that match. */
  readonly endpointIds: ReadonlyArray<EndpointId> | null
  /** False: one attempt for each delivery. */
  readonly retry: boolean
}

export const Published = Schema.Struct({
  id: Id("event"),
  eventType: Schema.String,
  deliveryIds: Schema.Array(Id("delivery")),
  duplicate: Schema.Boolean
})
export type Published = typeof Published.Type

export interface Publish {
  readonly workspaceId: WorkspaceId
  /** Publishes on one connection are stored in the order in which they came; null: no order is promised. */
  readonly connection: string | null
  readonly event: NewEvent
  readonly actor: Actor
  readonly traceId: string
  readonly mostDeliveries: number
}

/** Published, or refused with the SQLSTATE `code`. */
const Outcome = Schema.Struct({
  ...Published.fields,
  code: Schema.NullOr(Schema.String),
  message: Schema.NullOr(Schema.String),
  hint: Schema.NullOr(Schema.String)
})
type Outcome = typeof Outcome.Type

const KEY_HELD = "Another call or transaction is still publishing with this idempotency key"
const ENDPOINT_HELD =
  "The workspace, or an endpoint that wants the event, is being deleted, or something holds a table or row that the publish needs"

const keyOf = ({ event, workspaceId }: Publish) =>
  event.idempotencyKey === null ? null : `${workspaceId} ${event.idempotencyKey}`

const namedOf = ({ endpointIds }: NewEvent) => (endpointIds === null ? null : JSON.stringify(endpointIds))

const refusedBy = ({ code, hint, message }: Pick<Outcome, "code" | "hint" | "message">) =>
  new SqlError({ cause: Object.assign(new Error(message ?? ""), { code, hint }) })

/** One publish, or another transaction, made the statement fail; nothing was stored. */
const isOfOne = (error: SqlError) => !isDatabaseAway(error) || isInTheWay(sqlProblemOf(error).code)

/** `Batcher` tells outcomes a turn of the event loop later: publishes that must be repeated come before one that comes now. */
const afterOutcomes = nextTurn

export const makePublishing = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const published = sql.literal(columnsOf(Published))
  const outcome = sql.literal(columnsOf(Outcome))
  const waiting = yield* makeLockWaits
  const lines = makeKeyedSemaphores()
  /** By connection, the publishes that are being repeated on their own. Later publishes on the connection wait for them. */
  const apart = new Map<string, Set<Publish>>()

  const isApart = ({ connection }: Publish) => connection !== null && apart.has(connection)

  const setApart = (publish: Publish) => {
    if (publish.connection === null) return
    const all = apart.get(publish.connection) ?? new Set()
    apart.set(publish.connection, all.add(publish))
  }

  const leave = (publish: Publish) => {
    const all = apart.get(publish.connection ?? "")
    if (all?.delete(publish) && all.size === 0) apart.delete(publish.connection ?? "")
  }

  /**
   * All or nothing. Waits for other transactions that publish with the same key: if they commit, they give the answer; if
   * they roll back, the key is free.
   */
  const publishTogether = (
    workspaceId: WorkspaceId,
    events: ReadonlyArray<NewEvent>,
    traceId: string,
    mostDeliveries: number,
    actor: Actor,
    key: string | null = null
  ) =>
    rows(sql, Published)`select ${published} from posthorn.try_publish_all(
      ${workspaceId}, ${events.map(({ eventType }) => eventType)}::text[],
      ${events.map(({ payload }) => payload.text)}::text[]::json[],
      ${events.map(({ idempotencyKey }) => idempotencyKey) as Array<string>}::text[], ${traceId},
      ${mostDeliveries}::integer, ${actorText(actor)}, ${events.map(namedOf) as Array<string>}::text[]::json[],
      ${events.map(({ retry }) => retry)}::boolean[])`.pipe(
      waiting.forOthers(
        key,
        events.some(({ idempotencyKey }) => idempotencyKey !== null) ? KEY_HELD : ENDPOINT_HELD
      )
    )

  const publishAlone = (publish: Publish): Effect.Effect<Published, SqlError | ServiceUnavailable> => {
    const { actor, event, mostDeliveries, traceId, workspaceId } = publish
    return Effect.map(
      publishTogether(workspaceId, [event], traceId, mostDeliveries, actor, keyOf(publish)),
      ([made]) => made!
    )
  }

  const publishEach = (publishes: ReadonlyArray<Publish>) =>
    rows(sql, Outcome)`select ${outcome} from posthorn.try_publish_each(
      ${publishes.map(({ workspaceId }) => workspaceId)}::text[],
      ${publishes.map(({ event }) => event.eventType)}::text[],
      ${publishes.map(({ event }) => event.payload.text)}::text[]::json[],
      ${publishes.map(({ event }) => event.idempotencyKey) as Array<string>}::text[],
      ${publishes.map(({ traceId }) => traceId)}::text[], ${publishes[0]!.mostDeliveries}::integer,
      ${publishes.map(({ actor }) => actorText(actor))}::text[],
      ${publishes.map(({ event }) => namedOf(event)) as Array<string>}::text[]::json[],
      ${publishes.map(({ event }) => event.retry)}::boolean[]) order by index`

  /** Behind earlier publishes of its connection. Until it is over, later ones must not overtake it. */
  const publishApart = (publish: Publish, first: Effect.Effect<void> = Effect.void) => {
    const alone = publishAlone(publish)
    const inLine = publish.connection === null ? alone : lines.withPermit(publish.connection)(alone)
    return Effect.acquireUseRelease(
      Effect.sync(() => setApart(publish)),
      () => Effect.zipRight(first, inLine),
      () => Effect.sync(() => leave(publish))
    )
  }

  /** Set apart before its caller goes on. */
  const setApartNow = (publish: Publish) => {
    setApart(publish)
    return publishApart(publish)
  }

  const publishShared = yield* makeBatcher(publishEach, {
    lineOf: ({ workspaceId }: Publish) => workspaceId,
    bytesOf: ({ event }) => event.payload.text.length,
    isApart,
    alone: setApartNow,
    settle: (publish, outcome) =>
      Exit.match(outcome, {
        onSuccess: ({ code, hint, message, ...made }) =>
          code === null
            ? Effect.succeed<Published>(made)
            : isInTheWay(code)
              ? setApartNow(publish)
              : Effect.fail(refusedBy({ code, hint, message })),
        onFailure: (cause) =>
          Option.exists(Cause.failureOption(cause), isOfOne) ? setApartNow(publish) : Effect.failCause(cause)
      }),
    left: leave
  })

  /** Outside of the caller's transaction. */
  const one = (publish: Publish) =>
    Effect.suspend(() =>
      isApart(publish) || waiting.isWaitedFor(keyOf(publish))
        ? publishApart(publish, afterOutcomes)
        : publishShared(publish)
    )

  return { one, all: publishTogether } as const
})
