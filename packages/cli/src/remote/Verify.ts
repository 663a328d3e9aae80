/**
 * `posthorn verify`: checks whether a captured request is genuine. Standard input has headers, an empty line and the body.
 * Signature and time are checked separately: a request captured some time ago is too old, but may be intact.
 *
 * With a secret it asks nobody; without one it asks Posthorn, which knows the endpoint's secrets and never tells them.
 */
import { buffer } from "node:stream/consumers"
import {
  InvalidSecret,
  TOLERANCE_SECONDS,
  VerificationError,
  verify as verifyRequest
} from "@posthorn/signature"
import { Clock, Effect, Option, Redacted } from "effect"
import { misused, refuse } from "../command/CommandFailed.ts"
import { say } from "../command/Terminal.ts"
import { Posthorn } from "./Posthorn.ts"
import { spanOf } from "./Times.ts"

const LINE_END = /\r?\n/

/** The body is exactly the bytes after the empty line. */
const parts = (input: Buffer) => {
  const text = input.toString("latin1")
  const end = /\r?\n\r?\n/.exec(text)
  const head = end === null ? text : text.slice(0, end.index)
  const headers: Record<string, string> = {}
  for (const line of head.split(LINE_END)) {
    const colon = line.indexOf(":")
    if (colon > 0) headers[line.slice(0, colon).trim().toLowerCase()] = line.slice(colon + 1).trim()
  }
  return { headers, body: end === null ? Buffer.alloc(0) : input.subarray(end.index + end[0].length) }
}

const explained = (error: unknown) => {
  if (error instanceof InvalidSecret || error instanceof TypeError) return misused(error.message)
  if (!(error instanceof VerificationError)) return Effect.die(error)
  return refuse(
    error.reason === "signature_mismatch"
      ? "The signature does not fit body and secret: check that the secret is this endpoint's, and that the body is the raw one."
      : error.message
  )
}

const received = Effect.promise(() => buffer(process.stdin)).pipe(Effect.map(parts))

const GENUINE: ReadonlyArray<string> = ["right", "previous_secret"]

/** Posthorn's verdict, about this endpoint's secrets, or about those of the endpoint that `webhook-id` was sent to. */
export const verifyRemotely = (endpoint: Option.Option<string>) =>
  Effect.gen(function* () {
    const { ask, slug } = yield* Posthorn
    const { body, headers } = yield* received
    const deliveryId = headers["webhook-id"] ?? ""
    const endpointId = yield* Option.match(endpoint, {
      onSome: Effect.succeed,
      onNone: () =>
        deliveryId === ""
          ? refuse("The request has no webhook-id, so nobody knows its endpoint: give --endpoint whe_…")
          : Effect.map(
              ask(({ deliveries }) =>
                deliveries.getWebhookDelivery({ path: { slug, deliveryId }, withResponse: true })
              ),
              ({ value }) => value.endpointId
            )
    })
    const { value } = yield* ask(({ endpoints }) =>
      endpoints.explainSignature({
        path: { slug, endpointId },
        payload: { headers, body: body.toString() },
        withResponse: true
      })
    )
    yield* GENUINE.includes(value.verdict)
      ? say(`${value.verdict}: ${value.explanation}`)
      : refuse(
          value.verdict === "timestamp_off" ? value.explanation : `${value.verdict}: ${value.explanation}`
        )
  })

export const verify = (secret: Redacted.Redacted) =>
  Effect.gen(function* () {
    const { body, headers } = yield* received
    const verified = yield* Effect.try({
      try: () =>
        verifyRequest({
          secrets: [Redacted.value(secret)],
          headers,
          body,
          toleranceSeconds: Number.MAX_SAFE_INTEGER
        }),
      catch: (error) => error
    }).pipe(Effect.catchAll(explained))
    const age = (yield* Clock.currentTimeMillis) - verified.timestamp * 1_000
    if (Math.abs(age) > TOLERANCE_SECONDS * 1_000)
      return yield* refuse(
        `The signature is right, but the request was signed ${age > 0 ? `${spanOf(age)} ago` : `${spanOf(-age)} ahead of this clock`}: receivers take 5 minutes.`
      )
    yield* say(`genuine: ${verified.id}, signed ${spanOf(age)} ago`)
  })
