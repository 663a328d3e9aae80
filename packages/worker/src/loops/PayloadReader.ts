/**
 * Reads large payloads, one at a time, beside the Loader: others do not wait for a payload that takes seconds from a database far
 * away. Each delivery is requeued, whether its payload could be read or not, even if the worker stops.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { makeTrouble, reporting } from "@posthorn/telemetry/Trouble"
import { Effect } from "effect"
import type { Parts } from "../Parts.ts"
import { schedulesOf } from "../Schedules.ts"

export const makePayloadReader = ({
  dispatcher,
  queue,
  tuning
}: Pick<Parts, "dispatcher" | "queue" | "tuning">): Effect.Effect<never> => {
  const trouble = makeTrouble("Large payloads cannot be read", "Large payloads can be read again")

  const next: Effect.Effect<void, SqlError> = Effect.suspend(() => {
    const row = dispatcher.largePayloads.next
    if (row === undefined) return dispatcher.toRead.wait
    let read: string | null = null
    return queue.payload(row).pipe(
      Effect.map((payload) => {
        read = payload
      }),
      reporting(trouble),
      Effect.ensuring(Effect.sync(() => dispatcher.payloadRead(row, read)))
    )
  })

  const stop = Effect.sync(() => {
    for (let row = dispatcher.largePayloads.next; row !== undefined; row = dispatcher.largePayloads.next)
      dispatcher.payloadRead(row, null)
  })

  return Effect.forever(next).pipe(
    Effect.retry(schedulesOf(tuning).loadAgain),
    Effect.orDie,
    Effect.ensuring(stop)
  )
}
