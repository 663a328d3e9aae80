/** `posthorn deliveries`, `attempts` and `trace`: what happened. */
import { DeliveryStatus } from "@posthorn/domain/States"
import { Effect, Option, Schedule } from "effect"
import { misused } from "../command/CommandFailed.ts"
import { say } from "../command/Terminal.ts"
import { type Between, given, itemTexts, type Paging, showList, timesOf } from "./Lists.ts"
import { print, table, talk } from "./Output.ts"
import { Posthorn } from "./Posthorn.ts"

const STATUSES: ReadonlyArray<string> = DeliveryStatus.literals

interface Filter extends Paging, Between {
  readonly status: Option.Option<string>
  readonly eventType: Option.Option<string>
  readonly endpoint: Option.Option<string>
  readonly watch: boolean
}

interface Row {
  readonly id: string
  readonly status: string
  readonly eventType: string
  readonly endpointId: string
  readonly attempts: number
  readonly lastHttpStatus: number | null
  readonly lastFailureReason: string | null
  readonly createdAt: string
}

const HEADS = ["ID", "STATUS", "EVENT TYPE", "ENDPOINT", "ATTEMPTS", "LAST", "CREATED"]

const lastOf = ({ lastFailureReason, lastHttpStatus }: Row) =>
  lastFailureReason === null || lastFailureReason === "http_status" ? lastHttpStatus : lastFailureReason

const cellsOf = (row: Row) => [
  row.id,
  row.status,
  row.eventType,
  row.endpointId,
  row.attempts,
  lastOf(row),
  row.createdAt
]

const reading = (filter: Filter) =>
  Effect.gen(function* () {
    const status = Option.getOrUndefined(filter.status)
    if (status !== undefined && !STATUSES.includes(status))
      return yield* misused(`--status is one of ${STATUSES.join(", ")}`)
    const { ask, slug } = yield* Posthorn
    const urlParams = {
      ...given({ eventType: filter.eventType, endpointId: filter.endpoint }),
      ...(yield* timesOf(filter)),
      ...(status !== undefined && { status: status as DeliveryStatus }),
      payload: filter.json ? ("include" as const) : ("omit" as const)
    }
    return (page: { readonly limit: number; readonly cursor?: string }) =>
      ask(({ deliveries }) =>
        deliveries.listWorkspaceDeliveries({
          path: { slug },
          urlParams: { ...urlParams, ...page },
          withResponse: true
        })
      )
  })

const LOOK = Schedule.spaced("1 second")

/** New deliveries, and those whose status or attempts changed, one line each, until it is stopped. */
const watch = (filter: Filter) => {
  const seen = new Map<string, string>()
  const look = Effect.gen(function* () {
    const read = yield* reading(filter)
    const { text, value } = yield* read({ limit: filter.limit })
    const texts = itemTexts(text)
    const lines: Array<string> = []
    value.items.forEach((row, at) => {
      const state = `${row.status} ${row.attempts}`
      if (seen.get(row.id) === state) return
      seen.set(row.id, state)
      lines.unshift(
        filter.json
          ? texts[at]!
          : cellsOf(row)
              .map((cell) => cell ?? "-")
              .join("  ")
      )
    })
    for (const line of lines) yield* say(line)
  })
  return Effect.zipRight(
    filter.json ? Effect.void : talk("Watching; Ctrl-C ends it."),
    Effect.repeat(look, LOOK)
  )
}

export const deliveries = (filter: Filter) =>
  filter.watch
    ? watch(filter)
    : Effect.flatMap(reading(filter), (read) =>
        showList(filter, read, { heads: HEADS, cells: cellsOf, empty: "No delivery matches." })
      )

export const attempts = (deliveryId: string, json: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ deliveries }) =>
      deliveries.listWebhookDeliveryAttempts({
        path: { slug, deliveryId },
        urlParams: {},
        withResponse: true
      })
    )
    yield* print(json, text, () =>
      value.items.length === 0
        ? "No attempt is on record yet."
        : table(
            ["#", "STATUS", "HTTP", "REASON", "MS", "AT", "ANSWER"],
            value.items.map((one) => [
              one.ordinal,
              one.status,
              one.httpStatus,
              one.failureDetail ?? one.failureReason,
              one.durationMs,
              one.at,
              one.responseBody === null ? null : JSON.stringify(one.responseBody.slice(0, 60))
            ])
          )
    )
  })

/** The details of a line, after time, kind and id. */
const factsOf = (item: Readonly<Record<string, unknown>>) => {
  const { at: _at, id: _id, kind, ...facts } = item
  if (kind === "audit") return String(facts.action)
  return Object.entries(facts)
    .filter(([name, value]) => value !== null && name !== "traceId")
    .map(([name, value]) => `${name}=${typeof value === "object" ? JSON.stringify(value) : String(value)}`)
    .join(" ")
}

export const trace = (id: string, json: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { text, value } = yield* ask(({ traces }) =>
      traces.getTrace({ path: { slug, traceId: id }, withResponse: true })
    )
    yield* print(json, text, () =>
      table(
        ["AT", "WHAT", "ID", ""],
        value.items.map((item) => [item.at, item.kind, item.id, factsOf(item)])
      )
    )
    if (value.truncated && !json) yield* talk("There is more: only the 1,000 oldest lines are shown.")
  })
