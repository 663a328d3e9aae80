/**
 * Calls with an idempotency key: the change is made once, and repeating the call returns its answer. Refusals are not kept: the
 * key can be used again after the error is fixed. Source: spec §4.3.
 */
import { IdempotencyKeyInUse, IdempotencyKeyReused } from "@posthorn/domain/Errors"
import { SecretBox } from "@posthorn/persistence/client/SecretBox"
import {
  type FoundAnswer,
  IdempotencyRepo,
  type KeyOwner
} from "@posthorn/persistence/repositories/IdempotencyRepo"
import { Effect, Either, Option, Redacted } from "effect"

export interface Given {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface KeyedCall extends KeyOwner {
  /** Hash of operation, path and body: a repeated call must have the same. */
  readonly digest: Buffer
  /** How long the call goes on after its change; usually 0. */
  readonly afterSeconds: number
}

export interface Made<A> {
  readonly value: A
  readonly given: Given
  readonly again: string
  readonly isSecret: boolean
}

export type Outcome<A> =
  | { readonly kind: "made"; readonly value: A; readonly given: Given }
  | { readonly kind: "repeated"; readonly given: Given }

/** A call that is this late counts as lost; then repeated calls get the first part of its answer. */
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

      const keep = (call: KeyedCall, { again, given, isSecret }: Made<unknown>) =>
        repo.keep(call, {
          fingerprint: box.fingerprint(boxRow(call), call.digest),
          status: given.status,
          headers: given.headers,
          body: isSecret ? null : again,
          sealed: isSecret ? box.seal(boxRow(call), Redacted.make(again)) : null,
          runningSeconds: call.afterSeconds === 0 ? null : call.afterSeconds + SLACK_SECONDS
        })

      /** None if an answer with a secret is too old, or its master key is gone. */
      const bodyOf = (call: KeyedCall, { body, sealed }: FoundAnswer): Option.Option<string> => {
        if (sealed === null) return Option.fromNullable(body)
        return Option.map(Either.getRight(box.open(boxRow(call), sealed)), Redacted.value)
      }

      const repeat = (call: KeyedCall, found: FoundAnswer) =>
        Effect.gen(function* () {
          if (!box.isFingerprint(boxRow(call), call.digest, found.fingerprint))
            return yield* new IdempotencyKeyReused({})
          if (found.running) return yield* new IdempotencyKeyInUse()
          const body = bodyOf(call, found)
          if (Option.isNone(body)) return yield* new IdempotencyKeyReused({})
          const { headers, status } = found
          return { kind: "repeated", given: { status, headers, body: body.value } } as const
        })

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
