/**
 * `posthorn listen URL`: deliveries on the developer's own machine, without a tunnel.
 *
 * With `--endpoint`: copies of what that endpoint is sent from now on, once each, with the `webhook-*` headers and the body
 * byte for byte, read from the attempts on record. Without: a temporary endpoint for every event type, which is removed
 * when the command ends. Where Posthorn may send to the URL itself (`posthorn dev`), it does; where it may not, the
 * endpoint stays disabled, and each event is signed here with the endpoint's own secret and sent from here.
 *
 * The temporary endpoint's metadata says until when it is in use, which this command puts off while it runs. One that was left by
 * a command that was killed is removed by the next command after that time.
 */

import { newId } from "@posthorn/domain/Ids"
import { type JsonText, parseJson } from "@posthorn/domain/JsonText"
import { requestBody } from "@posthorn/domain/RequestBody"
import { sign } from "@posthorn/signature"
import { Clock, Effect, Either, Schedule } from "effect"
import { type CommandFailed, misused } from "../command/CommandFailed.ts"
import { dim, green, red, say, timeOfDay } from "../command/Terminal.ts"
import { talk } from "./Output.ts"
import { Posthorn } from "./Posthorn.ts"

const LOOK = Schedule.spaced("500 millis")
const PAGE = 100
const DEADLINE_MS = 10_000
/** Never resolves (RFC 2606), and is never connected to: the endpoint is disabled. */
const NOWHERE = "https://listen.posthorn.invalid/"

interface Copy {
  readonly deliveryId: string
  readonly eventType: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const shown = (status: number | string) =>
  typeof status === "number" && status < 300 ? green(String(status)) : red(String(status))

const line = (eventType: string, deliveryId: string, status: number | string) =>
  Effect.flatMap(timeOfDay, (time) => say(`${dim(time)}  ${shown(status)}  ${eventType}  ${dim(deliveryId)}`))

/** Sends it on and says what came back. A receiver that fails is the developer's to see, not this command's end. */
const forward = (url: string, { body, deliveryId, eventType, headers }: Copy) =>
  Effect.promise(async () => {
    try {
      const response = await fetch(url, {
        method: "POST",
        headers,
        body,
        redirect: "manual",
        signal: AbortSignal.timeout(DEADLINE_MS)
      })
      await response.body?.cancel()
      return response.status
    } catch (error) {
      const { cause } = error as { readonly cause?: { readonly code?: string } }
      return cause?.code ?? (error as Error).name
    }
  }).pipe(Effect.flatMap((status) => line(eventType, deliveryId, status)))

type Item = Readonly<Record<string, unknown>> & { readonly payload: JsonText | null }

/** Items of a page, with the exact text of their payloads. */
const itemsOf = (text: string): ReadonlyArray<Item> =>
  (Either.getOrThrow(parseJson(text, [["items", "*", "payload"]])) as { readonly items: ReadonlyArray<Item> })
    .items

/** Items that were not seen before, oldest first; those that exist at the start count as seen. */
const fresh = (seen: Set<string>, items: ReadonlyArray<Item>, first: boolean) => {
  const found = items.filter(({ id }) => !seen.has(String(id))).toReversed()
  for (const { id } of found) seen.add(String(id))
  return first ? [] : found
}

/** Polls until the command ends. Failing polls do not end it; each outage is reported once. */
const watching = (look: (first: boolean) => Effect.Effect<void, CommandFailed, Posthorn>) => {
  let failing = ""
  const again = look(false).pipe(
    Effect.tap(() => Effect.sync(() => (failing = ""))),
    Effect.catchAll(({ line }) => {
      if (line === failing) return Effect.void
      failing = line
      return talk(line)
    })
  )
  return Effect.zipRight(look(true), Effect.repeat(again, LOOK))
}

/** The deliveries that were sent to the endpoint, from their attempts. */
const copies = (url: string, endpointId: string) => {
  const seen = new Set<string>()
  const waiting = new Map<string, Item>()
  return watching((first) =>
    Effect.gen(function* () {
      const { ask, slug } = yield* Posthorn
      const { text } = yield* ask(({ deliveries }) =>
        deliveries.listWebhookDeliveries({
          path: { slug, endpointId },
          urlParams: { limit: PAGE, payload: "include" },
          withResponse: true
        })
      )
      for (const item of fresh(seen, itemsOf(text), first)) waiting.set(String(item.id), item)
      for (const [deliveryId, item] of waiting) {
        const { value } = yield* ask(({ deliveries }) =>
          deliveries.listWebhookDeliveryAttempts({
            path: { slug, deliveryId },
            urlParams: { limit: 1 },
            withResponse: true
          })
        )
        const headers = value.items[0]?.requestHeaders
        if (headers === undefined) continue
        waiting.delete(deliveryId)
        const eventType = String(item.eventType)
        const body = requestBody(deliveryId, eventType, item.payload?.text ?? "null")
        // Headers of the original connection; Node sets its own.
        const { "accept-encoding": _accepted, connection: _connection, host: _host, ...sent } = headers
        if (Object.keys(sent).length > 0) yield* forward(url, { deliveryId, eventType, headers: sent, body })
      }
    })
  )
}

/** Deliveries that Posthorn itself sends to the temporary endpoint. */
const answers = (endpointId: string) => {
  const seen = new Set<string>()
  return watching(() =>
    Effect.gen(function* () {
      const { ask, slug } = yield* Posthorn
      const { value } = yield* ask(({ deliveries }) =>
        deliveries.listWebhookDeliveries({
          path: { slug, endpointId },
          urlParams: { limit: PAGE, payload: "omit" },
          withResponse: true
        })
      )
      for (const one of value.items.toReversed()) {
        const state = `${one.id} ${one.attempts}`
        if (one.attempts === 0 || seen.has(state)) continue
        seen.add(state)
        yield* line(one.eventType, one.id, one.lastHttpStatus ?? one.lastFailureReason ?? "failed")
      }
    })
  )
}

/** Events as they are published, signed by this command. */
const signedHere = (url: string, secret: string) => {
  const seen = new Set<string>()
  return watching((first) =>
    Effect.gen(function* () {
      const { ask, slug } = yield* Posthorn
      const { text } = yield* ask(({ events }) =>
        events.listEvents({
          path: { slug },
          urlParams: { limit: PAGE, payload: "include" },
          withResponse: true
        })
      )
      for (const item of fresh(seen, itemsOf(text), first)) {
        const deliveryId = newId("delivery")
        const eventType = String(item.eventType)
        const body = requestBody(deliveryId, eventType, item.payload?.text ?? "null")
        const timestamp = Math.floor((yield* Clock.currentTimeMillis) / 1_000)
        const headers = {
          "content-type": "application/json",
          "webhook-id": deliveryId,
          "webhook-timestamp": String(timestamp),
          "webhook-signature": sign({ id: deliveryId, timestamp, body, secrets: [secret] }),
          "x-trace-id": String(item.traceId)
        }
        yield* forward(url, { deliveryId, eventType, headers, body })
      }
    })
  )
}

const DESCRIPTION = "Temporary: made by posthorn listen, removed when it ends"

const LEASE_MS = 7_200_000
const RENEWAL = Schedule.spaced("1 hour")
const LEASE = "posthorn-listen"

const lease = Effect.map(Clock.currentTimeMillis, (now) => ({
  [LEASE]: new Date(now + LEASE_MS).toISOString()
}))

const create = (url: string, enabled: boolean) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const metadata = yield* lease
    const payload = {
      url,
      eventTypes: ["*"],
      description: DESCRIPTION,
      enabled,
      metadata,
      revealSecret: true
    }
    const { value } = yield* ask(({ endpoints }) =>
      endpoints.createWebhookEndpoint({ path: { slug }, headers: {}, payload, withResponse: true })
    )
    return { id: value.id, secret: value.signingSecret ?? "" }
  })

/** An endpoint that is gone, or a server that is away, is said by what watches. */
const renew = (endpointId: string) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const metadata = yield* lease
    yield* ask(({ endpoints }) =>
      endpoints.updateWebhookEndpoint({
        path: { slug, endpointId },
        headers: {},
        payload: { metadata },
        withResponse: true
      })
    )
  }).pipe(Effect.ignore, Effect.schedule(RENEWAL))

const deleteEndpoint = (endpointId: string) =>
  Effect.flatMap(Posthorn, ({ ask, slug }) =>
    ask(({ endpoints }) =>
      endpoints.deleteWebhookEndpoint({ path: { slug, endpointId }, headers: {}, withResponse: true })
    )
  )

/** What commands that were killed have left. */
const removeLeftovers = Effect.gen(function* () {
  const { ask, slug } = yield* Posthorn
  const { value } = yield* ask(({ endpoints }) =>
    endpoints.listWebhookEndpoints({ path: { slug }, urlParams: { limit: 200 }, withResponse: true })
  )
  const now = yield* Clock.currentTimeMillis
  const over = value.items.filter(({ metadata }) => Date.parse(metadata[LEASE] ?? "") < now)
  yield* Effect.forEach(over, ({ id }) => deleteEndpoint(id), { discard: true })
}).pipe(Effect.ignore)

/** Removed however the command ends. */
const temporary = (url: string) =>
  Effect.acquireRelease(
    create(url, true).pipe(
      Effect.map((made) => ({ ...made, direct: true })),
      // Posthorn may not send to this URL. Any other refusal would occur again, and is reported.
      Effect.orElse(() => Effect.map(create(NOWHERE, false), (made) => ({ ...made, direct: false })))
    ),
    ({ id }) =>
      deleteEndpoint(id).pipe(
        Effect.timeout("5 seconds"),
        Effect.catchAll(() =>
          talk(`The temporary endpoint could not be removed: posthorn endpoints list shows ${id}.`)
        )
      )
  )

const toTemporary = (url: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      yield* removeLeftovers
      const { direct, id, secret } = yield* temporary(url)
      yield* Effect.forkScoped(renew(id))
      yield* talk(`Listening for every event; Ctrl-C removes the temporary endpoint ${id}.`)
      yield* talk(`Its secret, to verify with: ${secret}`)
      yield* direct ? answers(id) : signedHere(url, secret)
    })
  )

export const listen = (url: string, endpointId: string | undefined) => {
  const target = URL.canParse(url) ? new URL(url) : undefined
  if (target === undefined || !/^https?:$/.test(target.protocol))
    return misused(`"${url}" is no http address, such as http://localhost:3000/webhooks`)
  if (endpointId === undefined) return toTemporary(target.href)
  return Effect.zipRight(
    talk(`Copying what ${endpointId} is sent to ${target.href}; Ctrl-C ends it.`),
    copies(target.href, endpointId)
  )
}
