/**
 * Authenticates by the `Authorization` header: an API token opens one workspace, an operator's token all of them.
 *
 * Neither cookies nor the query are searched for a token. A failure counts against the client's address. Source: spec §5 and
 * §5.1.
 */
import { hash, timingSafeEqual } from "node:crypto"
import { Identities } from "@posthorn/capabilities/Identities"
import { Operators } from "@posthorn/capabilities/Operators"
import { type RateLimited, Unauthorized } from "@posthorn/domain/Errors"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Effect, Redacted } from "effect"
import type { Caller } from "./AuthenticatedCaller.ts"
import { clientKey, RateLimits } from "./RateLimits.ts"

const BEARER = /^Bearer +([\x21-\x7e]+)$/i
const digest = (text: string) => hash("sha256", text, "buffer")

/** At this many addresses all are forgotten; each then costs one look-up. */
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

    /** Compares with all of them, so that the time does not tell which one matched. */
    const operatorWith = (token: string) =>
      operators.filter((one) => one.length === token.length && timingSafeEqual(digest(token), one.digest))[0]
        ?.operator

    /**
     * Until when addresses are blocked that failed too often. `mayTry` reads this in place of the bucket of `RateLimits`.
     */
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
     * Called before a code is looked up: an address that has failed too often is refused without a query. The bucket
     * decides: its window may end before the whole seconds that callers are told.
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

    /** The line of a request before its caller is known for certain: that of a known token, else that of its address. */
    const lineOf = (authorization: string | undefined, address: string): string => {
      const token = BEARER.exec(authorization ?? "")?.[1]
      if (token === undefined) return clientKey(address)
      const known = identities.recall(token)
      if (known !== undefined) return known.workspaceId
      return operatorWith(token) === undefined ? clientKey(address) : "operator"
    }

    return { bearer, lineOf, mayTry, unauthorized } as const
  })
}) {}
