/**
 * Sends what is ready: as many long-lived fibers as there are slots, each with one attempt at a time, from signing to judging.
 *
 * Nothing is sent without certain ownership of its shard. Interrupted, a fiber that waits ends at once, and one that has an
 * attempt when that is over, within the receiver's deadlines: so nothing more is started, and what is in flight is finished.
 * Source: spec §3.1 and §8, decision §7.
 */
import { newId } from "@posthorn/domain/Ids"
import { judge, type Observation, type Verdict } from "@posthorn/domain/Verdict"
import type { Observed } from "@posthorn/persistence/Records"
import { SecretUnreadable } from "@posthorn/persistence/SecretBox"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Cause, Effect, Runtime } from "effect"
import type { Pace, Row } from "./lanes/Lane.ts"
import type { Parts } from "./Parts.ts"

/** The request of an attempt. */
interface Made {
  readonly generation: number
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  readonly url: string
  /** Null when no request was made. */
  readonly signature: string | null
}

const INVALID_URL: Observation = {
  httpStatus: null,
  failureReason: "invalid_url",
  durationMs: 0,
  responseBody: null
}

/** The attempt is over but for this. What goes wrong in it is told, and ends the fiber of its slot. */
type Over = (row: Row, finish: () => void) => void

/** Runs until interrupted. */
export const makePool = (parts: Parts): Effect.Effect<void> =>
  Effect.flatMap(Effect.runtime<never>(), (runtime) => poolOf(parts, Runtime.runFork(runtime)))

const poolOf = (parts: Parts, tell: (line: Effect.Effect<void>) => void): Effect.Effect<void> => {
  const { clock, lanes, ownership, prepare, receiver, retryDelayMs, slots } = parts

  const settle = (row: Row, made: Made, seen: Observation): void => {
    const verdict = judge(row.attempts + 1, seen)
    lanes.settle(row, observedOf(row, made, seen, verdict, retryDelayMs), paceOf(seen))
  }

  const send = (row: Row, over: Over): void => {
    const { endpoint } = row.loaded!
    const { generation } = endpoint
    const at = clock.unsafeCurrentTimeMillis()
    const prepared = prepare(row, row.loaded!, Math.floor(at / 1000))
    if (prepared === "invalid_url") {
      over(row, () => settle(row, { generation, at, signature: null, url: endpoint.url }, INVALID_URL))
      return
    }
    row.posted = true
    receiver.send(prepared, (seen) =>
      over(row, () => {
        // Null: the receiver closed before there was an observation. The delivery stays in the queue.
        if (seen !== null)
          settle(row, { generation, at, signature: prepared.signature, url: prepared.url }, seen)
      })
    )
  }

  const broken = (row: Row, defect: unknown): void => {
    const unreadable = defect instanceof SecretUnreadable
    if (unreadable) {
      // Not the delivery's fault: nothing is sent to this endpoint until the key is there again.
      lanes.park(row.endpointId)
      lanes.recorded(row)
      lanes.wake()
    } else lanes.unobserved(row)
    // Errors as such lose their message in JSON logs; a cause keeps it, and the stack.
    const why = unreadable ? defect.message : Cause.die(defect)
    tell(Effect.logError(`Delivery ${row.deliveryId} could not be attempted`, why))
  }

  const attempt = (row: Row, over: Over): void => {
    try {
      send(row, over)
    } catch (defect) {
      over(row, () => broken(row, defect))
    }
  }

  /** Without it, whoever stops the worker would wait for this attempt until the deadline. */
  const unjudged = (row: Row, defect: unknown): void => {
    if (row.state === "sent") lanes.unobserved(row)
    tell(Effect.logError(`Delivery ${row.deliveryId} could not be judged`, Cause.die(defect)))
  }

  /**
   * Goes from one attempt to the next within the receiver's callbacks, and its fiber sleeps until it ends: waking it for each
   * attempt cost a twentieth of what a worker delivers (ADR 14).
   */
  const slot = Effect.suspend(() => {
    let fail: (defect: unknown) => void = () => undefined
    let ended: (() => void) | null = null
    let busy = false
    let beginning = false
    const over: Over = (row, finish) => {
      try {
        finish()
      } catch (defect) {
        unjudged(row, defect)
        // A fiber that is ending anyway ends as if the attempt had come to its end.
        if (ended === null) return fail(defect)
      }
      busy = false
      if (ended !== null) ended()
      // Else whoever began it goes on: it was over at once.
      else if (!beginning) goOn()
    }
    const begin = (): boolean => {
      beginning = true
      // Looking at the clock costs more than looking here first.
      while (!busy && lanes.slots.ready.length > 0) {
        const row = lanes.next(elapsed(clock), ownership.certain())
        if (row === undefined) break
        busy = true
        attempt(row, over)
      }
      beginning = false
      return busy
    }
    const goOn = () => {
      try {
        if (!begin()) lanes.toSend.add(begin)
      } catch (defect) {
        fail(defect)
      }
    }
    const work = Effect.async<never>((done) => {
      fail = (defect) => done(Effect.die(defect))
      goOn()
    })
    const end = Effect.async<void>((done) => {
      lanes.toSend.delete(begin)
      if (busy) ended = () => done(Effect.void)
      else done(Effect.void)
    })
    return Effect.onInterrupt(work, () => end)
  })

  return Effect.forEach(Array.from({ length: slots }), () => slot, {
    concurrency: "unbounded",
    discard: true
  })
}

const paceOf = (seen: Observation): Pace =>
  seen.httpStatus !== null ? "faster" : seen.failureReason === "request_timeout" ? "slower" : "same"

/** As it is written down. */
const observedOf = (
  row: Row,
  made: Made,
  seen: Observation,
  verdict: Verdict,
  retryDelayMs: number
): Observed => ({
  workspaceId: row.workspaceId,
  deliveryId: row.deliveryId,
  endpointId: row.endpointId,
  generation: made.generation,
  ordinal: row.attempts + 1,
  attemptId: newId("attempt"),
  status: verdict.status,
  at: made.at,
  durationMs: seen.durationMs,
  httpStatus: seen.httpStatus,
  failureReason: verdict.failureReason,
  signature: made.signature,
  responseBody: seen.responseBody,
  url: made.url,
  responseHeaders: seen.responseHeaders ?? null,
  retryAfterMs: verdict.retryAfterUnits === null ? null : Math.round(verdict.retryAfterUnits * retryDelayMs),
  exhausted: verdict.exhausted
})
