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

const Found = Schema.Struct({ page: Schema.String })

/** Between the parts of what `posthorn.list_deliveries` gives, and between payloads: no JSON holds them. */
const [BETWEEN_LISTS, BETWEEN_PAYLOADS] = ["\u0002", "\u0001"]

/** Above every id. */
export const NEWEST = "whd_g"

/** Event types, the only texts here that somebody else has written, have nothing to escape; with one that has, rows are made. */
const PLAIN = /^[\w.,]*$/

const text = (value: string) => (value === "" ? "null" : `"${value}"`)
const number = (value: string) => (value === "" ? "null" : value)
const time = (value: string) => (value === "" ? "null" : `"${toRfc3339(value)}"`)

/** What was found: how many, and each column as a list, in the order of the page. */
const read = (page: string) => {
  const [many, ...parts] = page.split(BETWEEN_LISTS)
  const list = (place: number) => parts[place]!.split(",")
  if (parts.length === 0) return undefined
  return {
    many: Number(many),
    isPlain: PLAIN.test(parts[3]!),
    ids: list(0),
    endpointIds: list(1),
    eventIds: list(2),
    eventTypes: list(3),
    statuses: list(4),
    attempts: list(5),
    nextAttemptAts: list(6),
    replayedFroms: list(7),
    lastHttpStatuses: list(8),
    lastFailureReasons: list(9),
    lastDurationMses: list(10),
    lastAttemptAts: list(11),
    createdAts: list(12),
    payloads: parts[13]?.split(BETWEEN_PAYLOADS)
  }
}
type Lists = NonNullable<ReturnType<typeof read>>

/** The first `count` items, with commas between them. */
const itemsOf = (lists: Lists, count: number): string => {
  const { attempts, createdAts, endpointIds, eventIds, eventTypes, ids, payloads, statuses } = lists
  const { lastAttemptAts, lastDurationMses, lastFailureReasons, lastHttpStatuses } = lists
  const { nextAttemptAts, replayedFroms } = lists
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
const cursorAfter = ({ createdAts, ids }: Lists, count: number) =>
  cursorAt(byTime, { at: toRfc3339(createdAts[count - 1]!), id: ids[count - 1]! })

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

/** Undefined when a payload may take more than its share of `PAGE_BYTES`: so many of them are within it, whatever each takes. */
export const makeWrittenPages =
  <Item>(sql: SqlClient, item: Schema.Schema<Item>) =>
  (
    workspaceId: WorkspaceId,
    { before, endpointId = null, limit, omitPayload = false }: Wanted
  ): Effect.Effect<Listing<never, Item> | undefined, SqlError> => {
    const room = omitPayload ? null : Math.floor((PAGE_BYTES - 1) / limit)
    const statement = rows(sql, Found)`select posthorn.list_deliveries(
      ${workspaceId}, ${endpointId}, ${before}, ${limit}, ${room}) as page`
    return Effect.flatMap(statement, ([found]): Effect.Effect<Listing<never, Item> | undefined> => {
      const lists = read(found!.page)
      if (lists === undefined) return Effect.succeed(NOTHING)
      const { isPlain, many, payloads } = lists
      if (!isPlain || (payloads === undefined && !omitPayload)) return Effect.succeed(undefined)
      const count = Math.min(many, limit)
      const cursor = many > limit ? `"${cursorAfter(lists, count)}"` : "null"
      return Effect.map(
        writtenRows(item, itemsOf(lists, count), "posthorn.list_deliveries"),
        ({ text: items }) => ({
          isEmpty: false,
          page: jsonOf<Page<Item>>(`{"items":${items},"nextCursor":${cursor}}`)
        })
      )
    })
  }
