/**
 * Performing a decoded call: the change, what goes on after it, and, under an idempotency key, all of it only once.
 *
 * Whatever is repeated says so with `Idempotent-Replayed: true`. Source: decision §10 (`Idempotency-Key`).
 */
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import { IdempotentCalls, type KeyedCall } from "@posthorn/capabilities/IdempotentCalls"
import { map } from "@posthorn/domain/AtOnce"
import type { PublicError } from "@posthorn/domain/Errors"
import { stringify } from "@posthorn/domain/JsonText"
import type { CurrentPrincipal } from "@posthorn/domain/Principal"
import { Effect } from "effect"
import type { DecodedRequest, RawRequest } from "./Decode.ts"
import { fingerprintOf, KEY_HEADER, keepsAnswers } from "./IdempotencyKey.ts"
import { Operations } from "./Operations.ts"

/** What goes back through the door. */
export interface Answer {
  readonly status: number
  readonly contentType: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Performed {
  readonly entry: ContractEntry
  readonly raw: RawRequest
  readonly request: DecodedRequest
  /** Whose idempotency keys are meant. */
  readonly caller: string
  readonly workspaceId: string | null
}

export class Performance extends Effect.Service<Performance>()("@posthorn/server/Performance", {
  dependencies: [IdempotentCalls.Default, Operations.Default],
  effect: Effect.gen(function* () {
    const calls = yield* IdempotentCalls
    const { afterwards } = yield* Operations

    /** `run` makes the change in a transaction of its own or of whoever runs it. */
    const perform = <R>(
      { caller, entry, raw, request, workspaceId }: Performed,
      run: Effect.Effect<unknown, PublicError, R>,
      answerOf: (value: unknown) => Answer
    ): Effect.Effect<Answer, PublicError, R | CurrentPrincipal> => {
      const after = afterwards[entry.name]
      const seconds = after?.seconds(request.body) ?? 0
      const goesOn = after !== undefined && seconds > 0
      const goOn = (value: unknown) => (goesOn ? after.run(value, seconds) : Effect.succeed(value))
      const keeps = keepsAnswers(entry) && entry.rules.changesNothing?.(request.body as never) !== true
      const key = keeps ? raw.headers[KEY_HEADER] : undefined
      if (key === undefined) return map(goesOn ? Effect.flatMap(run, goOn) : run, answerOf)

      const call: KeyedCall = {
        workspaceId,
        caller,
        key,
        fingerprint: fingerprintOf(entry, raw),
        isSecret: entry.rules.secret === true,
        afterSeconds: seconds
      }
      const { repeated } = entry.rules
      const made = Effect.map(run, (value) => {
        const given = answerOf(value)
        const again = repeated === undefined ? given.body : stringify(repeated(value as never))
        return { value, given, again }
      })
      /** The rest of a call that goes on after its change; whoever repeats it gets its end. */
      const finish = (value: unknown) =>
        Effect.flatMap(goOn(value), (end) => {
          const answer = answerOf(end)
          return Effect.as(calls.settle(call, answer.body), answer)
        })
      return Effect.flatMap(calls.once(call, made), (outcome) => {
        if (outcome.kind === "made") {
          return seconds === 0 ? Effect.succeed(outcome.given as Answer) : finish(outcome.value)
        }
        const { body, headers, status } = outcome.given
        return Effect.succeed({
          status,
          contentType: "application/json",
          headers: { ...headers, "idempotent-replayed": "true" },
          body
        })
      })
    }

    return { perform } as const
  })
}) {}
