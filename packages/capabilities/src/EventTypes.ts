/** The event catalogue: the operator describes event types, workspaces read what is not hidden. Source: spec §6.2. */

import * as SqlClient from "@effect/sql/SqlClient"
import { Catalogue } from "@posthorn/catalogue/Catalogue"
import { compileSchema, STEPS } from "@posthorn/catalogue/Schemas"
import {
  EventTypeNotFound,
  InvalidRequest,
  invalid,
  LimitReached,
  PreconditionFailed
} from "@posthorn/domain/Errors"
import { isEventType, isReserved } from "@posthorn/domain/EventType"
import { JsonText } from "@posthorn/domain/JsonText"
import { byType } from "@posthorn/domain/Page"
import { CurrentOperator, CurrentPrincipal } from "@posthorn/domain/Principal"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import {
  type EventTypeRow,
  type EventTypeSettings,
  EventTypesRepo,
  type Viewer
} from "@posthorn/persistence/repositories/EventTypesRepo"
import { Effect } from "effect"
import { changedFields } from "./Changes.ts"
import { type ListQuery, listPast } from "./Lists.ts"
import { transactional } from "./Transaction.ts"

export interface PutEventType extends Omit<EventTypeSettings, "schema" | "examples"> {
  readonly schema?: JsonText | undefined
  readonly examples?: ReadonlyArray<JsonText> | undefined
}

type Shown = ReturnType<typeof shown>

/** Checks that the type is still what the caller has read; undefined if the caller set no condition. */
type Precondition = ((present: Shown) => boolean) | undefined

/** Most event types of the catalogue. */
const MOST = 1_000

const EXAMPLES_BYTES = 65_536

const MOST_ISSUES = 50

const NO_DEVIATIONS: EventTypeRow["deviations"] = { count: 0, since: null, lastEventId: null }

const EVERYTHING: Viewer = { workspaceId: null, seesHidden: true }

const shown = ({ examples, schema, ...type }: EventTypeRow) => ({
  ...type,
  schema: schema === null ? null : new JsonText(schema),
  examples: examples.map((text) => new JsonText(text))
})

const settingsOf = ({ examples = [], schema, ...sent }: PutEventType): EventTypeSettings => ({
  ...sent,
  schema: schema === undefined || schema.text.trim() === "null" ? null : schema.text,
  examples: examples.map(({ text }) => text)
})

export class EventTypes extends Effect.Service<EventTypes>()("@posthorn/capabilities/EventTypes", {
  dependencies: [AuditEventsRepo.Default, Catalogue.Default, EventTypesRepo.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* AuditEventsRepo
    const catalogue = yield* Catalogue
    const types = yield* EventTypesRepo

    const found = (eventType: string, viewer: Viewer) =>
      Effect.flatMap(types.find(eventType, viewer), (row) =>
        row === undefined ? Effect.fail(new EventTypeNotFound()) : Effect.succeed(shown(row))
      )

    const get = Effect.fn("EventTypes.get")((eventType: string) => found(eventType, EVERYTHING))

    const list = Effect.fn("EventTypes.list")((query: ListQuery) =>
      listPast(byType, query, (from, limit) =>
        Effect.map(types.list(EVERYTHING, limit, from), (rows) => rows.map(shown))
      )
    )

    /** As a workspace sees it; the operator sees hidden ones in a workspace too. Deviations are of no endpoint. */
    const getInWorkspace = Effect.fn("EventTypes.getInWorkspace")(function* (eventType: string) {
      const { actor, endpointIds, workspaceId } = yield* CurrentPrincipal
      const type = yield* found(eventType, { workspaceId, seesHidden: actor.type === "operator" })
      return endpointIds === null ? type : { ...type, deviations: NO_DEVIATIONS }
    })

    /** The schema compiles, and the examples fit it. */
    const checkSchema = ({ examples, schema, validation }: EventTypeSettings) =>
      Effect.gen(function* () {
        if (schema === null) {
          if (validation === "off") return
          return yield* invalid("/validation", "Needs a schema")
        }
        const judge = yield* compileSchema(schema)
        const budget = { left: STEPS }
        const issues = examples.flatMap((text, index) =>
          judge
            .issuesOf(JSON.parse(text), budget)
            .map(({ message, path }) => ({ path: `/examples/${index}${path}`, message }))
        )
        if (issues.length > 0) return yield* new InvalidRequest({ issues: issues.slice(0, MOST_ISSUES) })
      })

    const check = (eventType: string, { examples }: EventTypeSettings) =>
      Effect.gen(function* () {
        if (!isEventType(eventType))
          return yield* invalid(
            "/eventType",
            "Expected dotted words such as invoice.paid, at most 128 characters"
          )
        if (isReserved(eventType))
          return yield* invalid("/eventType", "Posthorn's own event types cannot be described")
        if (examples.reduce((sum, text) => sum + Buffer.byteLength(text), 0) > EXAMPLES_BYTES)
          return yield* invalid("/examples", `Expected at most ${EXAMPLES_BYTES} bytes of examples`)
      })

    const record = (
      action: "event_type.created" | "event_type.updated" | "event_type.deleted",
      eventType: string,
      changes: { readonly fields: ReadonlyArray<string> }
    ) =>
      Effect.flatMap(CurrentOperator, (operator) =>
        audit.appendOperator(operator, action, ["event_type", eventType], changes)
      )

    /** Replaces what is said of the type. A put that changes nothing writes nothing. */
    const put = (eventType: string, sent: PutEventType, precondition?: Precondition) =>
      Effect.gen(function* () {
        const settings = settingsOf(sent)
        yield* check(eventType, settings)
        yield* checkSchema(settings)
        const answer = yield* store(eventType, settings, precondition)
        yield* catalogue.renew
        return answer
      }).pipe(Effect.withSpan("EventTypes.put"))

    const store = (eventType: string, settings: EventTypeSettings, precondition: Precondition) =>
      Effect.gen(function* () {
        yield* types.change
        const present = yield* types.find(eventType, EVERYTHING)
        if (precondition !== undefined && (present === undefined || !precondition(shown(present))))
          return yield* new PreconditionFailed()
        if (present === undefined && (yield* types.count) >= MOST)
          return yield* new LimitReached({ limit: MOST, of: "event_types" })
        const fields =
          present === undefined ? Object.keys(settings) : changedFields<EventTypeSettings>(present, settings)
        if (fields.length > 0) {
          yield* types.put(eventType, settings)
          yield* record(present === undefined ? "event_type.created" : "event_type.updated", eventType, {
            fields
          })
        }
        return {
          created: present === undefined,
          eventType: shown((yield* types.find(eventType, EVERYTHING))!)
        }
      }).pipe(transactional(sql))

    const remove = (eventType: string, precondition?: Precondition) =>
      Effect.gen(function* () {
        yield* types.change
        const present = yield* found(eventType, EVERYTHING)
        if (precondition?.(present) === false) return yield* new PreconditionFailed()
        yield* types.remove(eventType)
        yield* record("event_type.deleted", eventType, { fields: [] })
      }).pipe(transactional(sql), Effect.zipLeft(catalogue.renew), Effect.withSpan("EventTypes.remove"))

    return { get, getInWorkspace, list, put, remove } as const
  })
}) {}
