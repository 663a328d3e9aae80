/**
 * `posthorn find WORD`: looks for a word that somebody names, such as an order's number: as an id, as an idempotency key, as an
 * endpoint's `externalId`, and as a scalar in the payloads of a time.
 *
 * Payloads are read page by page, newest first, at most `MOST` of them; deliveries are shown of the first `SHOWN` events that were
 * found. `truncated` says that there is more.
 */
import { type JsonText, parseJson } from "@posthorn/domain/JsonText"
import { Effect, Either, Option } from "effect"
import { refuse } from "../command/CommandFailed.ts"
import { say, sayToTheLetter } from "../command/Terminal.ts"
import { timesOf } from "./Lists.ts"
import { table, talk } from "./Output.ts"
import { Posthorn } from "./Posthorn.ts"

export interface Find {
  readonly word: string
  readonly since: string
  readonly json: boolean
}

const PAGE = 200
const MOST = 10_000
const SHOWN = 20

/** Strings, among them the names of members, and the other scalars. */
const SCALARS = /"(?:[^"\\]|\\.)*"(\s*:)?|-?\d[\d.eE+-]*|true|false|null/g

/** Whether a scalar of this JSON equals the word as text; a number as it is spelled. */
export const holdsScalar = (json: string, word: string): boolean =>
  Array.from(json.matchAll(SCALARS)).some(([text, colon]) =>
    text.startsWith('"') ? colon === undefined && JSON.parse(text) === word : text === word
  )

const payloadsOf = (text: string): ReadonlyArray<JsonText | null> => {
  const page = Either.getOrThrow(parseJson(text, [["items", "*", "payload"]])) as {
    readonly items: ReadonlyArray<{ readonly payload: JsonText | null }>
  }
  return page.items.map(({ payload }) => payload)
}

/** A list of one, or of none if nobody has the id. */
const ifThere = <A, E extends { readonly _tag: string }, R>(found: Effect.Effect<A, E, R>) =>
  found.pipe(
    Effect.map((one): readonly [ReadonlyArray<A>] => [[one]]),
    Effect.catchIf(
      ({ _tag }) => _tag.endsWith("NotFound"),
      () => Effect.succeed<readonly [ReadonlyArray<A>]>([[]])
    )
  )

const NONE = Effect.succeed({ value: [] })

/** The ids of events whose payload holds the word. */
const inPayloads = ({ since, word }: Find) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const times = yield* timesOf({ since: Option.some(since), until: Option.none() })
    const read = (cursor: string | null) =>
      ask(({ events }) =>
        events.listEvents({
          path: { slug },
          urlParams: { ...times, limit: PAGE, payload: "include", ...(cursor !== null && { cursor }) },
          withResponse: true
        })
      )
    const ids: Array<string> = []
    let examined = 0
    let cursor: string | null = null
    do {
      const { text, value }: Effect.Effect.Success<ReturnType<typeof read>> = yield* read(cursor)
      const payloads = payloadsOf(text)
      value.items.forEach(({ id }, at) => {
        const payload = payloads[at]
        if (payload != null && holdsScalar(payload.text, word)) ids.push(id)
      })
      examined += value.items.length
      cursor = value.nextCursor
    } while (cursor !== null && examined < MOST)
    return { ids, examined, truncated: cursor !== null }
  })

const search = (options: Find) =>
  Effect.gen(function* () {
    const { word } = options
    const { ask, slug } = yield* Posthorn
    const path = { slug }
    const keyed = yield* ask(({ events }) =>
      events.listEvents({
        path,
        urlParams: { idempotencyKey: word, payload: "omit" },
        withResponse: true
      })
    )
    const { examined, ids, truncated } = yield* inPayloads(options)
    const named = word.startsWith("evt_") ? [word] : []
    const wanted = [...new Set([...named, ...keyed.value.items.map(({ id }) => id), ...ids])]
    const events = yield* Effect.forEach(wanted.slice(0, SHOWN), (eventId) =>
      ask(({ events }) => ifThere(events.getEvent({ path: { ...path, eventId } })))
    )
    const endpoints = yield* word.startsWith("whe_")
      ? ask(({ endpoints }) => ifThere(endpoints.getWebhookEndpoint({ path: { ...path, endpointId: word } })))
      : /^[\w.:-]{1,128}$/.test(word)
        ? Effect.map(
            ask(({ endpoints }) =>
              endpoints.listWebhookEndpoints({
                path,
                urlParams: { externalId: word },
                withResponse: true
              })
            ),
            ({ value }) => ({ value: value.items })
          )
        : NONE
    const delivery = yield* word.startsWith("whd_")
      ? ask(({ deliveries }) =>
          ifThere(deliveries.getWebhookDelivery({ path: { ...path, deliveryId: word } }))
        )
      : NONE
    const found = events.flatMap(({ value }) => value)
    const ofEvents = yield* Effect.forEach(found, ({ id }) =>
      ask(({ deliveries }) =>
        deliveries.listWorkspaceDeliveries({
          path,
          urlParams: { eventId: id, payload: "omit", limit: PAGE },
          withResponse: true
        })
      )
    )
    return {
      events: found,
      deliveries: [...delivery.value, ...ofEvents.flatMap(({ value }) => value.items)],
      endpoints: endpoints.value,
      examined,
      truncated: truncated || wanted.length > SHOWN
    }
  })

export const find = (options: Find) =>
  Effect.gen(function* () {
    const found = yield* search(options)
    const { deliveries, endpoints, events, examined, truncated } = found
    const where = `in ids, keys, and ${examined} payloads since ${options.since}`
    if (options.json) yield* sayToTheLetter(JSON.stringify(found))
    if (events.length + deliveries.length + endpoints.length === 0)
      return yield* refuse(
        `Nothing is ${JSON.stringify(options.word)} ${where}${truncated ? "; there are more, --since takes a later time" : ""}.`
      )
    if (options.json) return
    const rows = [
      ...events.map((one) => ["event", one.id, one.eventType, one.createdAt]),
      ...deliveries.map((one) => [
        "delivery",
        one.id,
        `${one.status}, ${one.attempts} attempts, to ${one.endpointId}`,
        one.createdAt
      ]),
      ...endpoints.map((one) => ["endpoint", one.id, one.url, null])
    ]
    yield* say(table(["WHAT", "ID", "", "CREATED"], rows))
    yield* talk(`Looked ${where}${truncated ? "; there is more" : ""}.`)
  })
