/**
 * `posthorn verify`: checks whether a captured request is genuine. Standard input has headers, an empty line and the body.
 * Signature and time are checked separately: a request captured some time ago is too old, but may be intact.
 */
import { buffer } from "node:stream/consumers"
import {
  InvalidSecret,
  TOLERANCE_SECONDS,
  VerificationError,
  verify as verifyRequest
} from "@posthorn/signature"
import { Clock, Effect, Redacted } from "effect"
import { misused, refuse } from "../CommandFailed.ts"
import { say } from "../Terminal.ts"
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

export const verify = (secret: Redacted.Redacted) =>
  Effect.gen(function* () {
    const { body, headers } = parts(yield* Effect.promise(() => buffer(process.stdin)))
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
