/**
 * Single publishes share statements, and so commits: `Gathering` puts together what arrives within the same moment, and
 * `posthorn.try_publish_each` gives each its own outcome. An answer comes after the commit.
 *
 * What somebody else holds (a key, an endpoint that is being deleted) is waited for outside: such a publish is made again
 * by itself, and so is, until that one is through, what else would have to wait for the same.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { SqlError } from "@effect/sql/SqlError"
import { andThen, asking, map, recoverFrom } from "@posthorn/domain/AtOnce"
import type { ServiceUnavailable } from "@posthorn/domain/Errors"
import type { JsonText } from "@posthorn/domain/JsonText"
import { Context, Effect, Option, Schema } from "effect"
import { rows } from "../Rows.ts"
import { isDatabaseAway, isInTheWay, problemOf } from "../Statement.ts"
import { textsOf } from "./BinaryArray.ts"
import { columnsOf, Id } from "./Columns.ts"
import { makeGathering } from "./Gathering.ts"

export interface NewEvent {
  readonly eventType: string
  readonly payload: JsonText
  readonly idempotencyKey: string | null
}

export const Published = Schema.Struct({
  id: Id("event"),
  eventType: Schema.String,
  deliveryIds: Schema.Array(Id("delivery")),
  duplicate: Schema.Boolean
})
export type Published = typeof Published.Type

export interface Publish {
  readonly workspaceSlug: string
  readonly event: NewEvent
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

/** How a publish is made by itself, waiting for whatever is held; and whether others wait for the same already. */
export interface Alone {
  readonly publish: (publish: Publish) => Effect.Effect<Published, SqlError | ServiceUnavailable>
  readonly isWaitedFor: (publish: Publish) => boolean
}

const refusedBy = ({ code, hint, message }: Pick<Outcome, "code" | "hint" | "message">) =>
  new SqlError({ cause: Object.assign(new Error(message ?? ""), { code, hint }) })

/** The statement was refused for one of them or for who was in its way, and has done nothing. */
const isOfOne = (error: SqlError) => !isDatabaseAway(error) || isInTheWay(problemOf(error).code)

/** Runs effects under names, and knows which names are running. */
const makeRunning = () => {
  const running = new Map<string, number>()
  const add = (name: string, n: number) => {
    const now = (running.get(name) ?? 0) + n
    if (now === 0) running.delete(name)
    else running.set(name, now)
  }
  const under =
    (name: string) =>
    <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.acquireUseRelease(
        Effect.sync(() => add(name, 1)),
        () => self,
        () => Effect.sync(() => add(name, -1))
      )
  return { under, isRunning: (name: string) => running.has(name) }
}

export const makeSharedPublishes = (alone: Alone) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const outcome = sql.literal(columnsOf(Outcome))
    const apart = makeRunning()

    const publishEach = (publishes: ReadonlyArray<Publish>) =>
      rows(sql, Outcome)`select ${outcome} from posthorn.try_publish_each(
        ${textsOf(publishes, ({ workspaceSlug }) => workspaceSlug)}::text[],
        ${textsOf(publishes, ({ event }) => event.eventType)}::text[],
        ${textsOf(publishes, ({ event }) => event.payload.text, "json")}::json[],
        ${textsOf(publishes, ({ event }) => event.idempotencyKey)}::text[],
        ${textsOf(publishes, ({ traceId }) => traceId)}::text[], ${publishes[0]!.mostDeliveries}::integer)
        order by place`

    const together = yield* makeGathering(publishEach, {
      lineOf: ({ workspaceSlug }) => workspaceSlug,
      bytesOf: ({ event }) => event.payload.text.length
    })

    const settle = (publish: Publish, { code, hint, message, ...published }: Outcome) => {
      if (code === null) return Effect.succeed<Published>(published)
      return isInTheWay(code) ? alone.publish(publish) : Effect.fail(refusedBy({ code, hint, message }))
    }

    const shared = (publish: Publish) => {
      const own = map(together(publish), (outcome) => settle(publish, outcome))
      const next = recoverFrom(own, (error) =>
        Effect.succeed(
          isOfOne(error) ? apart.under(publish.workspaceSlug)(alone.publish(publish)) : Effect.fail(error)
        )
      )
      return andThen(next, (then) => then)
    }

    /** Within a transaction it belongs to that, and is made by itself. */
    return (publish: Publish) =>
      asking((context: Context.Context<never>) =>
        Option.isSome(Context.getOption(context, SqlClient.TransactionConnection)) ||
        alone.isWaitedFor(publish) ||
        apart.isRunning(publish.workspaceSlug)
          ? alone.publish(publish)
          : shared(publish)
      )
  })
