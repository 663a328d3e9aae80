/**
 * Pages of deliveries as JSON, without a row being made for each: PostgreSQL gives the columns as lists, by a statement that
 * is planned once for each connection, and what they hold is written as it stands. To the byte what is made of rows
 * (`server/test/DeliveryPages.test.ts`); tests read each item back. For lists without a filter; and not where a payload is so
 * large that the page might have to end early. Why, and what it saves: docs/adr/0004-builder.md.
 */
import type { SqlClient } from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type { Fragment } from "@effect/sql/Statement"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { type JsonOf, jsonOf } from "@posthorn/domain/JsonText"
import { byTime, cursorAt, emptyPage, type Page } from "@posthorn/domain/Page"
import { Effect, Schema } from "effect"
import { toRfc3339 } from "../Database.ts"
import { rows, writtenRows } from "../Rows.ts"
import { PAGE_BYTES } from "../Statement.ts"
import { Count, columnsOf } from "./Columns.ts"

/** With commas, in the order of the page; null when there is no delivery. */
const List = Schema.NullOr(Schema.String)

/** The columns of `posthorn.list_deliveries`. */
const Listed = Schema.Struct({
  many: Count,
  ids: List,
  endpointIds: List,
  eventIds: List,
  eventTypes: List,
  statuses: List,
  attempts: List,
  nextAttemptAts: List,
  payloads: List,
  replayedFroms: List,
  lastHttpStatuses: List,
  lastFailureReasons: List,
  lastDurationMses: List,
  lastAttemptAts: List,
  createdAts: List
})
type Listed = typeof Listed.Type

/** Between payloads: no JSON holds it. */
const BETWEEN = "\u0001"

/** Above every id. */
export const NEWEST = "whd_g"

/** What is put between quotation marks has nothing to escape; a text of which that is not so is left to others. */
const PLAIN = /^[\w.,]*$/

const listOf = (text: string | null) => text!.split(",")
const text = (value: string) => (value === "" ? "null" : `"${value}"`)
const number = (value: string) => (value === "" ? "null" : value)
const time = (value: string) => (value === "" ? "null" : `"${toRfc3339(value)}"`)

/** The first `count` items, with commas between them. */
const itemsOf = (page: Listed, count: number): string => {
  const ids = listOf(page.ids)
  const endpointIds = listOf(page.endpointIds)
  const eventIds = listOf(page.eventIds)
  const eventTypes = listOf(page.eventTypes)
  const statuses = listOf(page.statuses)
  const attempts = listOf(page.attempts)
  const nextAttemptAts = listOf(page.nextAttemptAts)
  const payloads = page.payloads?.split(BETWEEN)
  const replayedFroms = listOf(page.replayedFroms)
  const lastHttpStatuses = listOf(page.lastHttpStatuses)
  const lastFailureReasons = listOf(page.lastFailureReasons)
  const lastDurationMses = listOf(page.lastDurationMses)
  const lastAttemptAts = listOf(page.lastAttemptAts)
  const createdAts = listOf(page.createdAts)
  let items = ""
  for (let n = 0; n < count; n++)
    items +=
      `${n === 0 ? "" : ","}{"id":"${ids[n]}","endpointId":"${endpointIds[n]}","eventId":${text(eventIds[n]!)},` +
      `"eventType":"${eventTypes[n]}","status":"${statuses[n]}","attempts":${attempts[n]},` +
      `"nextAttemptAt":${time(nextAttemptAts[n]!)},"payload":${payloads?.[n] ?? "null"},` +
      `"replayedFrom":${text(replayedFroms[n]!)},"lastHttpStatus":${number(lastHttpStatuses[n]!)},` +
      `"lastFailureReason":${text(lastFailureReasons[n]!)},"lastDurationMs":${number(lastDurationMses[n]!)},` +
      `"lastAttemptAt":${time(lastAttemptAts[n]!)},"createdAt":${time(createdAts[n]!)}}`
  return items
}

/** Where the list goes on. */
const cursorAfter = ({ createdAts, ids }: Listed, count: number) =>
  cursorAt(byTime, { at: toRfc3339(listOf(createdAts)[count - 1]!), id: listOf(ids)[count - 1]! })

export interface Wanted {
  /** None for all of the workspace. */
  readonly endpointId?: string | null | undefined
  readonly omitPayload?: boolean | undefined
  readonly limit: number
  /** Strictly below this id. */
  readonly before: string | Fragment
}

/** A page, or its JSON. */
export interface Listing<Row, Item> {
  readonly isEmpty: boolean
  readonly page: Page<Row> | JsonOf<Page<Item>>
}

const NOTHING: Listing<never, never> = { isEmpty: true, page: emptyPage }

const columns = columnsOf(Listed)

/** Undefined when a payload may take more than its share of `PAGE_BYTES`: so many of them are within it, whatever each takes. */
export const makeWrittenPages =
  <Item>(sql: SqlClient, item: Schema.Schema<Item>) =>
  (
    workspaceId: WorkspaceId,
    { before, endpointId = null, limit, omitPayload = false }: Wanted
  ): Effect.Effect<Listing<never, Item> | undefined, SqlError> => {
    const room = omitPayload ? null : Math.floor((PAGE_BYTES - 1) / limit)
    const statement = rows(sql, Listed)`select ${sql.literal(columns)}
      from posthorn.list_deliveries(${workspaceId}, ${endpointId}, ${before}, ${limit}, ${room})`
    return Effect.flatMap(statement, ([page]): Effect.Effect<Listing<never, Item> | undefined> => {
      const { eventTypes, many, payloads } = page!
      if (many === 0) return Effect.succeed(NOTHING)
      if ((payloads === null && !omitPayload) || !PLAIN.test(eventTypes!)) return Effect.succeed(undefined)
      const count = Math.min(many, limit)
      const cursor = many > limit ? `"${cursorAfter(page!, count)}"` : "null"
      return Effect.map(
        writtenRows(item, itemsOf(page!, count), "posthorn.list_deliveries"),
        ({ text: items }) => ({
          isEmpty: false,
          page: jsonOf<Page<Item>>(`{"items":${items},"nextCursor":${cursor}}`)
        })
      )
    })
  }
