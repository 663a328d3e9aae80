/**
 * The slots: one fiber for each request that may be in flight. Each takes a ready delivery, attempts it, settles it, and takes
 * the next.
 *
 * Nothing is sent without holding the lease of its shard. A fiber can be interrupted while it waits, and never within a request.
 * A defect in one ends them all. Source: spec §3.1, §8 and §3.4, docs/adr/0014-cost-of-a-delivery.md.
 */
import { newId } from "@posthorn/domain/Ids"
import type { Observation } from "@posthorn/domain/Verdict"
import { SecretUnreadable } from "@posthorn/persistence/client/SecretBox"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Cause, Effect, Redacted } from "effect"
import { credentialsOf, type Given } from "../attempt/Authentication.ts"
import { type Judged, judged } from "../attempt/Judged.ts"
import { type Prepared, ProfileUnreadable } from "../attempt/PrepareRequest.ts"
import type { Outgoing } from "../attempt/Sender.ts"
import type { Pace } from "../dispatcher/Lane.ts"
import type { Sent } from "../dispatcher/Stages.ts"
import { Signal } from "../internal/Signal.ts"
import type { Parts } from "../Parts.ts"

const INVALID_URL: Observation = {
  httpStatus: null,
  failureReason: "invalid_url",
  durationMs: 0,
  responseBody: null
}

const AUTH_FAILED: Observation = { ...INVALID_URL, failureReason: "auth_failed" }

export interface Slots {
  /** Runs until interrupted. */
  readonly run: Effect.Effect<void>
  /** Wakes a waiting fiber for each ready delivery. */
  readonly fill: Effect.Effect<void>
}

export const makeSlots = (parts: Parts): Slots => {
  const { clock, databaseClock, dispatcher, ownership, prepare, receiver, resolve, slots, tokens } = parts

  /** Fibers that wait. A `Mailbox` or a semaphore would wake all of them for one delivery. */
  const idle: Array<Signal> = []

  const start = () =>
    dispatcher.readyCount > 0 ? dispatcher.start(elapsed(clock), ownership.holdsLease()) : undefined

  const fill = Effect.sync(() => {
    for (let n = dispatcher.readyCount; n > 0; n--) idle.pop()?.notify()
  })

  /** A defect in what an attempt's end leads to is logged, and ends the slot's fiber. */
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

  const settle = (sent: Sent, at: number, prepared: Prepared | null, seen: Observation) => {
    const { content, row } = sent
    const { policy } = content.endpoint
    const tried = { deliveryId: row.deliveryId, ordinal: row.attempts + 1, now: databaseClock.now() }
    const verdict = judged(resolve(policy), policy, tried, seen)
    dispatcher.settle(sent, seen, observedOf(sent, at, prepared, seen, verdict), paceOf(seen))
  }

  const notPrepared = (sent: Sent, defect: unknown) => {
    const unreadable = defect instanceof SecretUnreadable || defect instanceof ProfileUnreadable
    // Not the delivery's fault. Nothing is sent to this endpoint until it can be read again.
    if (unreadable) dispatcher.unusable(sent)
    else dispatcher.unobserved(sent, false)
    // Errors as such lose their message in JSON logs; a cause keeps it, and the stack.
    const why = unreadable ? defect.message : Cause.die(defect)
    return Effect.logError(`Delivery ${sent.row.deliveryId} could not be attempted`, why)
  }

  /** Whether the receiver refused its token, for the first time in this attempt. */
  const mayRenew = (
    { row }: Sent,
    { authentication }: Prepared,
    { token }: Given,
    { httpStatus }: Observation
  ) => {
    if (authentication.kind !== "oauth2" || token === null || row.refused) return false
    if (httpStatus !== 401 && httpStatus !== 403) return false
    tokens.refused(row, authentication.wanted, token)
    return true
  }

  const attempt = (sent: Sent): Effect.Effect<void> => {
    const began = elapsed(clock)
    const at = databaseClock.now()
    try {
      const prepared = prepare(sent.row, sent.content, Math.floor(at / 1000))
      const credentials =
        prepared === "invalid_url" ? null : credentialsOf(prepared.authentication, sent.row, tokens, at)
      if (credentials?.kind === "waiting") {
        // At once: the fetch may end at any moment, and lets the lane go on.
        dispatcher.withhold(sent)
        return Effect.void
      }
      dispatcher.begin(sent, began)
      if (prepared === "invalid_url" || credentials === null)
        return ending(sent, false, () => settle(sent, at, null, INVALID_URL))
      if (credentials.kind === "failed") return ending(sent, false, () => settle(sent, at, null, AUTH_FAILED))
      return Effect.flatMap(receiver.send(requestOf(prepared, credentials)), (seen) =>
        ending(sent, true, () => {
          // The receiver closed before there was an observation. The delivery stays in the queue.
          if (seen === null) return
          if (seen === "no_turn") dispatcher.noTurn(sent)
          else if (mayRenew(sent, prepared, credentials, seen)) dispatcher.sendAgain(sent)
          else settle(sent, at, prepared, prepared.conceal?.(seen, credentials.token) ?? seen)
        })
      )
    } catch (defect) {
      return notPrepared(sent, defect)
    }
  }

  /** A slot has ended by a defect. The others end after their attempt, even if more is ready. */
  let isBroken = false

  const slot = Effect.uninterruptibleMask((restore) => {
    const wake = new Signal()
    const wait = restore(wake.wait)
    const next = () => {
      const ready = start()
      if (ready !== undefined) return attempt(ready)
      idle.push(wake)
      return wait
    }
    return Effect.whileLoop({ while: () => !isBroken, body: next, step: () => undefined })
  }).pipe(Effect.onError(() => Effect.sync(() => (isBroken = true))))

  return {
    fill,
    run: Effect.forEach(Array.from({ length: slots }), () => slot, {
      concurrency: "unbounded",
      discard: true
    })
  }
}

const requestOf = (prepared: Prepared, { client, token }: Given): Outgoing => {
  if (token === null) return client === undefined ? prepared : { ...prepared, client }
  const headers = { ...prepared.headers, authorization: `Bearer ${Redacted.value(token)}` }
  return { ...prepared, client, headers }
}

const paceOf = (seen: Observation): Pace =>
  seen.httpStatus !== null ? "faster" : seen.failureReason === "request_timeout" ? "slower" : "same"

/**
 * The observation as it is stored. `prepared` is null if no request was made. Written out, because Node 20 takes a microsecond for
 * each spread that is followed by more members.
 */
const observedOf = (
  { content, row }: Sent,
  at: number,
  prepared: Prepared | null,
  seen: Observation,
  verdict: Judged
): Observed => ({
  workspaceId: row.workspaceId,
  deliveryId: row.deliveryId,
  endpointId: row.endpointId,
  generation: content.endpoint.generation,
  ordinal: row.attempts + 1,
  attemptId: newId("attempt"),
  at,
  durationMs: seen.durationMs,
  httpStatus: seen.httpStatus,
  responseBody: seen.responseBody,
  url: prepared?.url ?? content.endpoint.url,
  responseHeaders: seen.responseHeaders ?? null,
  signature: prepared?.evidence.signature ?? null,
  requestHeaders: prepared?.evidence.requestHeaders ?? null,
  rateLimited: row.begunAt !== null,
  status: verdict.status,
  failureReason: verdict.failureReason,
  waitMs: verdict.waitMs,
  exhausted: verdict.exhausted,
  disables: verdict.disables,
  policyVersion: verdict.policyVersion
})
