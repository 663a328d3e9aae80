/**
 * One attempt of a delivery that has a slot: prepares, sends, judges, and tells the dispatcher. Source: spec §3.1, §2.9,
 * docs/adr/0014-cost-of-a-delivery.md.
 */
import { judge, type Observation } from "@posthorn/domain/Verdict"
import { SecretUnreadable } from "@posthorn/persistence/client/SecretBox"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Cause, Effect, Redacted } from "effect"
import type { Sent } from "../dispatcher/Dispatched.ts"
import type { Parts } from "../Parts.ts"
import { credentialsOf, type Given } from "./Authentication.ts"
import { observedOf, paceOf } from "./Observed.ts"
import { type PreparedRequest, ProfileUnreadable } from "./PrepareRequest.ts"
import type { Outgoing } from "./Sender.ts"

const INVALID_URL: Observation = {
  httpStatus: null,
  failureReason: "invalid_url",
  durationMs: 0,
  responseBody: null
}

const AUTH_FAILED: Observation = { ...INVALID_URL, failureReason: "auth_failed" }

type AttemptParts = Pick<
  Parts,
  "clock" | "databaseClock" | "dispatcher" | "prepare" | "resolve" | "sender" | "tokens" | "unreadable"
>

export const makeAttempt = (parts: AttemptParts): ((sent: Sent) => Effect.Effect<void>) => {
  const { clock, databaseClock, dispatcher, prepare, resolve, sender, tokens, unreadable } = parts

  /** Runs `end`, which settles the attempt. A defect in it is logged, and ends the slot's fiber. */
  const ending = (sent: Sent, posted: boolean, end: () => void): Effect.Effect<void> => {
    try {
      end()
      return Effect.void
    } catch (defect) {
      // Without this, stopping the worker would wait for this attempt until its deadline.
      dispatcher.unobserved(sent, posted)
      const cause = Cause.die(defect)
      const line = `Delivery ${sent.row.deliveryId} could not be judged`
      return Effect.zipRight(Effect.logError(line, cause), Effect.failCause(cause))
    }
  }

  const settle = (sent: Sent, at: number, prepared: PreparedRequest | null, seen: Observation) => {
    const { deliveryId, attempts } = sent.row
    const { endpoint, retry } = sent.content
    const tried = { deliveryId, ordinal: attempts + 1, retry, now: databaseClock.now() }
    const verdict = judge(resolve(endpoint.policy), tried, seen)
    dispatcher.settle(sent, seen, observedOf(sent, at, prepared, seen, verdict), paceOf(seen))
  }

  const notPrepared = (sent: Sent, defect: unknown) => {
    // Nothing is sent to the endpoint until its secret and its profile can be read.
    if (defect instanceof SecretUnreadable || defect instanceof ProfileUnreadable) {
      dispatcher.unreadable(sent)
      return unreadable.found(sent.row.endpointId, defect.message)
    }
    dispatcher.unobserved(sent, false)
    // A cause keeps an error's message and stack in JSON logs.
    return Effect.logError(`Delivery ${sent.row.deliveryId} could not be attempted`, Cause.die(defect))
  }

  /** A refused token is renewed once in an attempt. */
  const mayRenew = (
    { row }: Sent,
    { authentication }: PreparedRequest,
    { token }: Given,
    { httpStatus }: Observation
  ) => {
    if (authentication.kind !== "oauth2" || token === null || row.refused) return false
    if (httpStatus !== 401 && httpStatus !== 403) return false
    tokens.refused(row, authentication.wanted, token)
    return true
  }

  return (sent) => {
    const began = elapsed(clock)
    const at = sent.row.window?.dated(began, databaseClock.now()) ?? databaseClock.now()
    try {
      const prepared = prepare(sent.row, sent.content, Math.floor(at / 1000))
      unreadable.readable(sent.row.endpointId)
      const credentials =
        prepared === "invalid_url" ? null : credentialsOf(prepared.authentication, sent.row, tokens, at)
      if (credentials?.kind === "waiting") {
        // Synchronously: `credentialsKnown` may be called at any moment.
        dispatcher.awaitCredentials(sent)
        return Effect.void
      }
      dispatcher.rateLimits.start(sent.row, began)
      if (prepared === "invalid_url" || credentials === null)
        return ending(sent, false, () => settle(sent, at, null, INVALID_URL))
      if (credentials.kind === "failed") return ending(sent, false, () => settle(sent, at, null, AUTH_FAILED))
      return Effect.flatMap(sender.send(requestOf(prepared, credentials)), (seen) =>
        ending(sent, true, () => {
          // The sender has closed.
          if (seen === null) return
          if (seen === "no_turn") dispatcher.notSent(sent)
          else if (mayRenew(sent, prepared, credentials, seen)) dispatcher.sendAgain(sent)
          else settle(sent, at, prepared, prepared.conceal?.(seen, credentials.token) ?? seen)
        })
      )
    } catch (defect) {
      return notPrepared(sent, defect)
    }
  }
}

const requestOf = (prepared: PreparedRequest, { client, token }: Given): Outgoing => {
  if (token === null) return client === undefined ? prepared : { ...prepared, client }
  const headers = { ...prepared.headers, authorization: `Bearer ${Redacted.value(token)}` }
  return { ...prepared, client, headers }
}
