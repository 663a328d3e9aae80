/**
 * `posthorn event-types …`, with the operator's token: lists, shows, describes and removes event types, and takes them over from an
 * OpenAPI document. Source: spec §6.2.
 */
import type { DescribedType } from "@posthorn/domain/catalogue/DescribedType"
import { describedTypes } from "@posthorn/domain/catalogue/FromOpenApi"
import { isEventType } from "@posthorn/domain/EventType"
import { Effect } from "effect"
import { misused, refuse } from "../command/CommandFailed.ts"
import { counted } from "../command/Counted.ts"
import { textOf } from "./JsonInput.ts"
import { type Paging, showList } from "./Lists.ts"
import { agreed, isTerminal, members, print, talk } from "./Output.ts"
import { Posthorn } from "./Posthorn.ts"

const pathOf = (eventType: string) => `/event-types/${encodeURIComponent(eventType)}`

export const list = (options: Paging) =>
  Effect.gen(function* () {
    const { ask } = yield* Posthorn
    yield* showList(
      options,
      (page) => ask(({ catalogue }) => catalogue.listCatalogue({ urlParams: page, withResponse: true })),
      {
        heads: ["EVENT TYPE", "GROUP", "SCHEMA", "CHECKED", "DEVIATIONS"],
        cells: (one) => [
          one.eventType,
          one.group,
          one.schema === null ? "no" : "yes",
          one.validation,
          one.deviations.count
        ],
        empty: "No event type is described yet: posthorn event-types put invoice.paid FILE"
      }
    )
  })

export const show = (eventType: string, json: boolean) =>
  Effect.gen(function* () {
    const { ask } = yield* Posthorn
    const { text, value } = yield* ask(({ catalogue }) =>
      catalogue.getEventType({ path: { eventType }, withResponse: true })
    )
    yield* print(json, text, () => members(value))
  })

/** The file is sent as it is. */
export const put = (eventType: string, file: string, json: boolean) =>
  Effect.gen(function* () {
    if (!isEventType(eventType)) return yield* misused(`${eventType} is no event type: write dotted words`)
    const { sendText } = yield* Posthorn
    const text = yield* sendText("PUT", pathOf(eventType), yield* textOf(file))
    yield* print(json, text, () => `${eventType} is described.`)
  })

export const remove = (eventType: string, yes: boolean) =>
  Effect.gen(function* () {
    const { ask } = yield* Posthorn
    if (!yes && !isTerminal())
      return yield* refuse("It removes what is said of the type: say --yes, or call it in a terminal.")
    if (!yes && !(yield* agreed(`Remove ${eventType} from the catalogue?`)))
      return yield* refuse("Nothing was removed.")
    yield* ask(({ catalogue }) =>
      catalogue.deleteEventType({ path: { eventType }, headers: {}, withResponse: true })
    )
    yield* talk(`${eventType} is removed; its events stay.`)
  })

/** Prints the schema alone, for a file. */
export const draft = (eventType: string, events: number, json: boolean) =>
  Effect.gen(function* () {
    const { ask } = yield* Posthorn
    const { text, value } = yield* ask(({ catalogue }) =>
      catalogue.draftEventTypeSchema({ path: { eventType }, urlParams: { events }, withResponse: true })
    )
    if (value.examined === 0) return yield* refuse(`No event of ${eventType} was published.`)
    yield* print(json, text, () => JSON.stringify(value.schema, null, 2))
    if (!json) yield* talk(`Drafted from ${counted(value.examined, "event")}.`)
  })

interface Checked {
  readonly examined: number
  readonly fitting: number
  readonly deviating: ReadonlyArray<{
    readonly eventId: string
    readonly workspace: string
    readonly issues: ReadonlyArray<{ readonly path: string; readonly message: string }>
  }>
  readonly changes: ReadonlyArray<{ readonly path: string; readonly change: string }>
}

/** Ends with 1 if an event does not fit. */
export const check = (eventType: string, file: string, json: boolean) =>
  Effect.gen(function* () {
    const { sendText } = yield* Posthorn
    const text = yield* sendText(
      "POST",
      `${pathOf(eventType)}/check-schema`,
      `{"schema":${yield* textOf(file)}}`
    )
    const { changes, deviating, examined, fitting } = JSON.parse(text) as Checked
    yield* print(json, text, () =>
      [
        ...changes.map(({ change, path }) => `${change.padEnd(8)}  ${path === "" ? "the payload" : path}`),
        ...deviating.map(
          ({ eventId, issues: [first], workspace }) =>
            `deviates  ${eventId} of ${workspace}${first === undefined ? "" : `: ${first.path} ${first.message}`}`
        ),
        `${fitting} of ${counted(examined, "event")} fit.`
      ].join("\n")
    )
    if (deviating.length > 0) return yield* refuse(`${counted(deviating.length, "event")} would not fit.`)
  })

/** JSON or YAML. */
const documentOf = (file: string) =>
  Effect.flatMap(textOf(file), (text) =>
    Effect.tryPromise(async () =>
      /^\s*\{/.test(text) ? (JSON.parse(text) as unknown) : (await import("yaml")).parse(text)
    ).pipe(Effect.catchAll(() => misused(`${file} is neither JSON nor YAML`)))
  )

/** What a document does not say stays as it is: who sees the type, and whether its payloads are judged. */
const stored = (eventType: string) =>
  Effect.flatMap(Posthorn, ({ ask }) =>
    ask(({ catalogue }) =>
      catalogue.getEventType({ path: { eventType } }).pipe(
        Effect.map((found) => [found] as const),
        Effect.catchTag("EventTypeNotFound", () => Effect.succeed([undefined] as const))
      )
    )
  )

const importOne = ({ eventType, ...said }: DescribedType, dryRun: boolean) =>
  Effect.gen(function* () {
    const { sendText } = yield* Posthorn
    const { value: before } = yield* stored(eventType)
    const { hidden = false, validation = "off" } = before ?? {}
    const is = (type: object) => JSON.stringify(Object.entries({ ...type }).sort())
    const { createdAt: _, deviations: _1, eventType: _2, updatedAt: _3, ...present } = before ?? {}
    const wanted = { ...said, hidden, validation }
    if (before !== undefined && is(present) === is(wanted)) return `unchanged  ${eventType}`
    if (!dryRun) yield* sendText("PUT", pathOf(eventType), JSON.stringify(wanted))
    return `${before === undefined ? "described" : "changed  "}  ${eventType}`
  })

/** The `webhooks` of an OpenAPI document, one after the other; it stops at the first that is refused. */
export const importFile = (file: string, dryRun: boolean) =>
  Effect.gen(function* () {
    const types = describedTypes(yield* documentOf(file))
    if (types === undefined || types.length === 0)
      return yield* misused(`${file} is no OpenAPI 3.1 document with webhooks`)
    const bad = types.filter(({ eventType }) => !isEventType(eventType))
    if (bad.length > 0)
      return yield* misused(
        `${bad.map(({ eventType }) => JSON.stringify(eventType)).join(", ")}: an event type is dotted words such as invoice.paid; nothing was changed`
      )
    for (const type of types)
      yield* Effect.flatMap(
        Effect.catchTag(importOne(type, dryRun), "CommandFailed", ({ line }) =>
          refuse(`${type.eventType}: ${line}`)
        ),
        (line) => print(false, "", () => line)
      )
    if (dryRun) yield* talk("Nothing was changed: this is what would be.")
  })
