/**
 * The demo that `dev` shows: a workspace, a token, an endpoint, described event types, and one event on its way to the local
 * receiver.
 *
 * It uses the REST API with the operator's token, as a platform would. It is made once; later starts reuse it.
 */
import { Data, DateTime, Effect, Queue } from "effect"
import { demoCatalogue } from "./DemoCatalogue.ts"
import type * as DemoReceiver from "./DemoReceiver.ts"
import type { Demo, Kept } from "./LocalSecrets.ts"

/** The workspace's slug, also used in the documentation. */
export const SLUG = "acme"
const NO_ENDPOINT = { endpointId: "", signingSecret: "", receiverPort: 0 }

const receiverUrl = (port: number) => `http://127.0.0.1:${port}/inbox`

/** The demo workspace could not be made, or its first delivery did not arrive. */
export class DemoFailed extends Data.TaggedError("DemoFailed")<{ readonly message: string }> {}

type Json = Readonly<Record<string, unknown>>

const send = (
  method: "GET" | "POST" | "PUT" | "PATCH",
  baseUrl: string,
  token: string,
  path: string,
  body?: Json
) =>
  Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(`${baseUrl}${path}`, {
        method,
        signal,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body !== undefined && { body: JSON.stringify(body) })
      })
      return { status: response.status, body: (await response.json()) as Json }
    },
    catch: (cause) =>
      new DemoFailed({ message: `The demo could not reach the API at ${baseUrl}: ${String(cause)}` })
  })

const post = (baseUrl: string, token: string, path: string, body: Json) =>
  send("POST", baseUrl, token, path, body)

const expectStatus =
  (...statuses: ReadonlyArray<number>) =>
  (answer: { readonly status: number; readonly body: Json }) =>
    statuses.includes(answer.status)
      ? Effect.succeed(answer.body)
      : Effect.fail(
          new DemoFailed({ message: `The demo was refused: ${answer.body.detail ?? answer.status}` })
        )

const makeToken = (baseUrl: string, kept: Kept) =>
  post(baseUrl, kept.operatorToken, `/workspaces/${SLUG}/api-tokens`, {
    name: "Demo",
    scopes: ["admin"]
  }).pipe(
    Effect.flatMap(expectStatus(201)),
    Effect.map((created) => String(created.token))
  )

const makeEndpoint = Effect.fnUntraced(function* (baseUrl: string, token: string, receiverPort: number) {
  const created = yield* post(baseUrl, token, `/workspaces/${SLUG}/webhooks`, {
    url: receiverUrl(receiverPort),
    eventTypes: ["*"],
    description: "The demo's own receiver",
    revealSecret: true
  }).pipe(Effect.flatMap(expectStatus(201)))
  return { endpointId: String(created.id), signingSecret: String(created.signingSecret) }
})

/** Only what nobody has described, so that an entry that was changed stays. */
const describe = (baseUrl: string, kept: Kept) =>
  Effect.forEach(Object.entries(demoCatalogue), ([eventType, body]) =>
    Effect.flatMap(send("GET", baseUrl, kept.operatorToken, `/event-types/${eventType}`), ({ status }) =>
      status === 200
        ? Effect.void
        : Effect.flatMap(
            send("PUT", baseUrl, kept.operatorToken, `/event-types/${eventType}`, body),
            expectStatus(200, 201)
          )
    )
  )

/** The workspace, its token, and (if `withEndpoint`) its endpoint; made now or at an earlier start. */
export const ensure = Effect.fnUntraced(function* (
  baseUrl: string,
  kept: Kept,
  receiverPort: number | undefined
) {
  yield* post(baseUrl, kept.operatorToken, "/workspaces", { slug: SLUG, name: "Acme" }).pipe(
    Effect.flatMap(expectStatus(201, 409))
  )
  yield* describe(baseUrl, kept)
  const token = kept.demo?.token ?? (yield* makeToken(baseUrl, kept))
  if (receiverPort === undefined) return { ...NO_ENDPOINT, ...kept.demo, token } satisfies Demo
  if (kept.demo !== undefined && kept.demo.endpointId !== "") {
    // The receiver's port may have changed, and the endpoint may have been disabled while nobody received.
    const { status } = yield* send(
      "PATCH",
      baseUrl,
      token,
      `/workspaces/${SLUG}/webhooks/${kept.demo.endpointId}`,
      {
        url: receiverUrl(receiverPort),
        enabled: true
      }
    )
    if (status === 200) return { ...kept.demo, receiverPort } satisfies Demo
  }
  return { token, receiverPort, ...(yield* makeEndpoint(baseUrl, token, receiverPort)) } satisfies Demo
})

/** A link that opens the console once. */
export const consoleLink = (baseUrl: string, token: string) =>
  post(baseUrl, token, `/workspaces/${SLUG}/console-links`, {}).pipe(
    Effect.flatMap(expectStatus(201)),
    Effect.map(({ url }) => String(url))
  )

/** Publishes one event and waits until the receiver has it. */
export const firstDelivery = Effect.fnUntraced(function* (
  baseUrl: string,
  demo: Demo,
  receiver: Effect.Effect.Success<ReturnType<typeof DemoReceiver.make>>
) {
  const published = yield* post(baseUrl, demo.token, `/workspaces/${SLUG}/events`, {
    eventType: "demo.started",
    payload: { message: "Hello from Posthorn", at: DateTime.formatIso(yield* DateTime.now) }
  }).pipe(Effect.flatMap(expectStatus(202)))
  const deliveryIds = published.deliveryIds as ReadonlyArray<string>
  const arrival = Queue.take(receiver.seen).pipe(
    Effect.repeat({ until: (receipt) => deliveryIds.includes(receipt.deliveryId) })
  )
  return yield* arrival.pipe(
    Effect.timeoutFail({
      duration: "10 seconds",
      onTimeout: () =>
        new DemoFailed({ message: "The first webhook has not arrived within 10 s; see the log." })
    })
  )
})
