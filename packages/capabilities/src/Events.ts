/** Publishing events, and reading them back. Source: spec §6, §3.4 and §4.4. */

import * as SqlClient from "@effect/sql/SqlClient"
import { EventInDelivery, EventNotFound, InvalidRequest, invalid } from "@posthorn/domain/Errors"
import { isReserved } from "@posthorn/domain/EventType"
import type { EndpointId, EventId } from "@posthorn/domain/Ids"
import type { JsonText } from "@posthorn/domain/JsonText"
import { byId, byType } from "@posthorn/domain/Page"
import { CurrentPrincipal, type Via } from "@posthorn/domain/Principal"
import type { Times } from "@posthorn/persistence/client/Statement"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import {
  EventsRepo,
  isNearlyIndex,
  type PayloadValue,
  type Published
} from "@posthorn/persistence/repositories/EventsRepo"
import { counter } from "@posthorn/telemetry/Meters"
import { withCheapSpan } from "@posthorn/telemetry/Tracing"
import { Effect, Option, Schema } from "effect"
import { InstallationPolicy } from "./InstallationPolicy.ts"
import { type ListQuery, listPast, pagePast } from "./Lists.ts"
import { hiddenFrom, shown, shownPage } from "./OwnEvents.ts"
import { PayloadChecks } from "./PayloadChecks.ts"
import { transactional } from "./Transaction.ts"

export interface NewEvent {
  readonly eventType: string
  readonly payload: JsonText
  readonly idempotencyKey?: string | undefined
  readonly endpointIds?: ReadonlyArray<EndpointId> | undefined
  readonly retry?: boolean | undefined
}

const rowOf = ({ endpointIds, eventType, idempotencyKey, payload, retry }: NewEvent) => ({
  eventType,
  payload,
  idempotencyKey: idempotencyKey ?? null,
  endpointIds: endpointIds ?? null,
  retry: retry ?? true
})

interface EventQuery extends ListQuery, Times {
  readonly eventType?: string | undefined
  readonly idempotencyKey?: string | undefined
  readonly payloadPath?: string | undefined
  readonly payloadValue?: string | undefined
  readonly payload?: "include" | "omit" | undefined
}

const RESERVED = "The prefixes webhook., member. and api_token. are Posthorn's own"

/** A session of the console may publish only test sends. */
const PUBLISHING = [["rest"], ["mcp"]] as const

const published = counter(
  "posthorn_events_published_total",
  "Events published over REST and MCP.",
  ["via"],
  PUBLISHING
)
const made = counter(
  "posthorn_deliveries_created_total",
  "Deliveries that events published over REST and MCP were made into.",
  ["via"],
  PUBLISHING
)

/** A duplicate does not count again. */
const count = (via: Via, answers: ReadonlyArray<Published>) => {
  const fresh = answers.filter(({ duplicate }) => !duplicate)
  published.add(fresh.length, via)
  made.add(
    fresh.reduce((sum, { deliveryIds }) => sum + deliveryIds.length, 0),
    via
  )
}

/** Numbers keep their text; what is no JSON scalar is text. */
const scalarOf = (text: string): Pick<PayloadValue, "kind" | "value"> => {
  const read = Option.getOrNull(Schema.decodeOption(Schema.parseJson())(text))
  if (typeof read === "string") return { kind: "string", value: read }
  if (typeof read === "number") return { kind: "number", value: text.trim() }
  if (typeof read === "boolean") return { kind: "boolean", value: String(read) }
  return text.trim() === "null" ? { kind: "null", value: null } : { kind: "string", value: text }
}

/** Each costs the database another look at every payload. */
const MOST_NEARLY_INDEXES = 8
const TOO_MANY = `At most ${MOST_NEARLY_INDEXES} parts may be numbers that are no index, such as 01`

const payloadValueOf = ({ payloadPath, payloadValue }: EventQuery) => {
  if (payloadPath === undefined && payloadValue === undefined) return Effect.succeed(undefined)
  if (payloadPath === undefined) return Effect.fail(invalid("/payloadPath", "Needed beside payloadValue"))
  if (payloadValue === undefined) return Effect.fail(invalid("/payloadValue", "Needed beside payloadPath"))
  const path = payloadPath
    .slice(1)
    .split("/")
    .map((part) => part.replace(/~1/g, "/").replace(/~0/g, "~"))
  return path.filter(isNearlyIndex).length > MOST_NEARLY_INDEXES
    ? Effect.fail(invalid("/payloadPath", TOO_MANY))
    : Effect.succeed({ path, ...scalarOf(payloadValue) })
}

export class Events extends Effect.Service<Events>()("@posthorn/capabilities/Events", {
  dependencies: [AuditEventsRepo.Default, EventsRepo.Default, PayloadChecks.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* AuditEventsRepo
    const checks = yield* PayloadChecks
    const events = yield* EventsRepo
    const { fanOut } = (yield* InstallationPolicy).limits

    /** Stores the event and queues a delivery for each enabled endpoint that matches. When this returns, they are durable. */
    const publish = (published: NewEvent) =>
      Effect.flatMap(CurrentPrincipal, ({ actor, connection, traceId, workspaceId }) => {
        const event = rowOf(published)
        if (isReserved(event.eventType)) return Effect.fail(invalid("/eventType", RESERVED))
        const publishing = events.publish({
          ...{ workspaceId, connection, event, actor, traceId },
          mostDeliveries: fanOut
        })
        return Effect.map(
          checks.checked(workspaceId, connection, [event], () => "", Effect.map(publishing, Array.of)),
          ([published]) => {
            count(actor.via, [published!])
            return published!
          }
        )
      }).pipe(withCheapSpan("Events.publish"))

    /** Stores all events, or none if one is refused. The answers have the order of the events. */
    const publishAll = Effect.fn("Events.publishAll")(function* (batch: ReadonlyArray<NewEvent>) {
      const { actor, traceId, workspaceId } = yield* CurrentPrincipal
      const issues = batch.flatMap(({ eventType }, index) =>
        isReserved(eventType) ? [{ path: `/events/${index}/eventType`, message: RESERVED }] : []
      )
      if (issues.length > 0) return yield* new InvalidRequest({ issues })
      const rows = batch.map(rowOf)
      const items = yield* checks.checked(
        workspaceId,
        null,
        rows,
        (index) => `/events/${index}/payload`,
        events.publishAll(workspaceId, rows, traceId, fanOut, actor)
      )
      count(actor.via, items)
      return { items }
    })

    /** Published events, newest first. What a caller may not see in a payload is not found by it either. */
    const list = Effect.fn("Events.list")(function* (query: EventQuery) {
      const principal = yield* CurrentPrincipal
      const { eventType, idempotencyKey, since, until } = query
      const payloadValue = yield* payloadValueOf(query)
      const filter = {
        ...{
          eventType,
          idempotencyKey,
          payloadValue,
          since,
          until,
          hidden: hiddenFrom(principal.permissions)
        },
        omitPayload: query.payload === "omit"
      }
      const page = yield* pagePast(byId, query, (from) => events.list(principal, filter, query.limit, from))
      return yield* shownPage(page)
    })

    const get = Effect.fn("Events.get")(function* (eventId: EventId) {
      const principal = yield* CurrentPrincipal
      return yield* shown((yield* events.find(principal, eventId)) ?? (yield* new EventNotFound()))
    })

    /** Blanks an event for good: its payload, and what receivers answered. Repeated, it changes nothing. */
    const purge = (eventId: EventId) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const { workspaceId } = principal
        const { outcome, ...changes } = yield* events.purge(workspaceId, eventId)
        if (outcome === "waiting") return yield* new EventInDelivery({ eventId })
        if (outcome === "purged")
          yield* audit.append(principal, "event.purged", ["event", eventId], {
            fields: ["payload"],
            ...changes
          })
        return (yield* events.find(principal, eventId)) ?? (yield* new EventNotFound())
      }).pipe(transactional(sql), Effect.withSpan("Events.purge"))

    const listTypes = Effect.fn("Events.listTypes")(function* (query: ListQuery) {
      const principal = yield* CurrentPrincipal
      const seesHidden = principal.actor.type === "operator"
      return yield* listPast(byType, query, (from, limit) =>
        events.listTypes(principal, seesHidden, limit, from)
      )
    })

    return { get, list, listTypes, publish, publishAll, purge } as const
  })
}) {}
