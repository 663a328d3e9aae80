/**
 * Who sends an `Authorization` header: a bearer token opens one workspace, an operator's token all of them.
 *
 * Nothing else is looked at for a token, neither cookies nor the query. Whoever is not known counts against the client's
 * address. Source: spec §5 and §5.1.
 */
import { hash, timingSafeEqual } from "node:crypto"
import { Identities } from "@posthorn/capabilities/Identities"
import { Operators } from "@posthorn/capabilities/Operators"
import { type RateLimited, Unauthorized } from "@posthorn/domain/Errors"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Effect, Redacted } from "effect"
import type { Caller } from "./Caller.ts"
import { clientKey, RateLimits } from "./RateLimits.ts"

const BEARER = /^Bearer +([\x21-\x7e]+)$/i
const digest = (text: string) => hash("sha256", text, "buffer")

/** Remembered at once; beyond, all are forgotten, which costs each of them one look-up. */
const EXHAUSTED_ADDRESSES = 10_000

export class Authentication extends Effect.Service<Authentication>()("@posthorn/server/Authentication", {
  dependencies: [Identities.Default, RateLimits.Default],
  effect: Effect.gen(function* () {
    const limits = yield* RateLimits
    const identities = yield* Identities
    const operators = (yield* Operators).map(({ epoch, name, token }) => {
      const text = Redacted.value(token)
      return { operator: { name, epoch }, length: text.length, digest: digest(text) }
    })

    /** Compares with each of them, whichever it is. */
    const operatorWith = (token: string) =>
      operators.filter((one) => one.length === token.length && timingSafeEqual(digest(token), one.digest))[0]
        ?.operator

    /** Until when an address has failed too often. A hint for `mayTry`: the bucket itself is counted in `RateLimits`. */
    const exhausted = new Map<string, number>()

    const remember = (client: string, until: number) => {
      if (exhausted.size >= EXHAUSTED_ADDRESSES) exhausted.clear()
      exhausted.set(client, until)
    }

    const unauthorized = (address: string): Effect.Effect<never, RateLimited | Unauthorized> =>
      Effect.zipRight(
        Effect.tapError(limits.take("auth_failure", clientKey(address)), ({ retryAfterSeconds }) =>
          Effect.map(elapsedNow, (now) => remember(clientKey(address), now + retryAfterSeconds * 1_000))
        ),
        Effect.fail(new Unauthorized())
      )

    /**
     * Before a code is looked up: an address that has failed too often is refused without a statement. The bucket decides, as
     * whole seconds are told: its window may be over before they are.
     */
    const mayTry = (address: string): Effect.Effect<void, RateLimited> =>
      Effect.flatMap(elapsedNow, (now) =>
        (exhausted.get(clientKey(address)) ?? 0) > now
          ? limits.take("auth_failure", clientKey(address))
          : Effect.void
      )

    const bearer = (
      authorization: string | undefined,
      address: string
    ): Effect.Effect<Caller, RateLimited | Unauthorized> =>
      Effect.suspend(() => {
        const token = BEARER.exec(authorization ?? "")?.[1]
        if (token === undefined) return unauthorized(address)
        const operator = operatorWith(token)
        if (operator !== undefined) return Effect.succeed<Caller>({ kind: "operator", operator })
        return Effect.flatMap(identities.identify(token), (identity) =>
          identity === undefined ? unauthorized(address) : Effect.succeed<Caller>({ kind: "token", identity })
        )
      })

    return { bearer, mayTry, unauthorized } as const
  })
}) {}
