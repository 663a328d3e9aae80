/**
 * Calls with an idempotency key: the change is made once, and its answer is given again to whoever repeats the call.
 *
 * A refusal is not kept: mend what was wrong and use the key again. Source: spec §4.3.
 */
import { IdempotencyKeyInUse, IdempotencyKeyReused } from "@posthorn/domain/Errors"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import {
  type FoundAnswer,
  IdempotencyRepo,
  type KeyOwner
} from "@posthorn/persistence/repositories/IdempotencyRepo"
import { Effect, Option, Redacted } from "effect"

/** An answer as it goes to the caller. */
export interface Given {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface KeyedCall extends KeyOwner {
  /** Of operation, path, query and body: what another call under the key must equal. */
  readonly fingerprint: Buffer
  /** The answer holds a secret. */
  readonly isSecret: boolean
  /** How long the call goes on after its change; 0 for most. */
  readonly afterSeconds: number
}

/** An answer, and the body to give to whoever repeats the call. */
export interface Made<A> {
  readonly value: A
  readonly given: Given
  readonly again: string
}

export type Outcome<A> =
  | { readonly kind: "made"; readonly value: A; readonly given: Given }
  | { readonly kind: "repeated"; readonly given: Given }

/** A caller who is late by so much is taken for gone, and the first part of its answer is given instead. */
const SLACK_SECONDS = 2

export class IdempotentCalls extends Effect.Service<IdempotentCalls>()(
  "@posthorn/capabilities/IdempotentCalls",
  {
    dependencies: [IdempotencyRepo.Default],
    effect: Effect.gen(function* () {
      const box = yield* SecretBox
      const repo = yield* IdempotencyRepo

      const boxRow = ({ caller, key, workspaceId }: KeyOwner) => ({
        workspaceId: workspaceId ?? "",
        idempotencyKey: `${caller}|${key}`
      })

      const keep = (call: KeyedCall, { again, given }: Made<unknown>) =>
        repo.keep(call, {
          fingerprint: call.fingerprint,
          status: given.status,
          headers: given.headers,
          body: call.isSecret ? null : again,
          sealed: call.isSecret ? box.seal(boxRow(call), Redacted.make(again)) : null,
          runningSeconds: call.afterSeconds === 0 ? null : call.afterSeconds + SLACK_SECONDS
        })

      /** None when a secret answer is too old, or its master key is gone. */
      const bodyOf = (call: KeyedCall, { body, sealed }: FoundAnswer): Option.Option<string> => {
        if (sealed === null) return Option.fromNullable(body)
        return Option.liftThrowable(() => Redacted.value(box.open(boxRow(call), sealed)))()
      }

      const repeat = (call: KeyedCall, found: FoundAnswer) =>
        Effect.gen(function* () {
          if (!found.fingerprint.equals(call.fingerprint)) return yield* new IdempotencyKeyReused()
          if (found.running) return yield* new IdempotencyKeyInUse()
          const body = bodyOf(call, found)
          if (Option.isNone(body)) return yield* new IdempotencyKeyReused()
          const { headers, status } = found
          return { kind: "repeated", given: { status, headers, body: body.value } } as const
        })

      /** Makes the change and keeps its answer, in one transaction; or gives the answer that is kept. */
      const once = <A, E, R>(call: KeyedCall, make: Effect.Effect<Made<A>, E, R>) =>
        repo
          .transaction(
            Effect.gen(function* () {
              if (!(yield* repo.claim(call))) return yield* new IdempotencyKeyInUse()
              const found = yield* repo.find(call)
              if (found !== undefined) return yield* repeat(call, found)
              const made = yield* make
              yield* keep(call, made)
              return { kind: "made", value: made.value, given: made.given } as Outcome<A>
            })
          )
          .pipe(Effect.withSpan("IdempotentCalls.once"))

      return { once, settle: repo.settle } as const
    })
  }
) {}
