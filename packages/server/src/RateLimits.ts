/**
 * Rate limits: one bucket per kind of operation, counted per caller and per workspace, or per client address before
 * authentication.
 *
 * The first `quota` calls of a window pass and every further one is refused, exactly. Every answer to a call that was
 * counted says so in the headers of the IETF draft, refusals included. Source: spec §8, decision §6.
 */
import type { Bucket, Quota } from "@posthorn/domain/Bucket"
import { type PublicError, RateLimited } from "@posthorn/domain/Errors"
import { Effect } from "effect"
import { RateCounters } from "./RateCounters.ts"
import { ServerConfig } from "./ServerConfig.ts"

/** How full a bucket is after a call. */
export interface BucketState {
  readonly bucket: Bucket
  readonly limit: number
  readonly windowSeconds: number
  readonly remaining: number
  readonly resetSeconds: number
}

/** Times the quota of a caller. */
const WORKSPACE_SHARE = 5

const states = new WeakMap<PublicError, BucketState>()

/** Note which bucket the answer to this refusal reports. */
export const reporting = <E extends PublicError>(error: E, state: BucketState | null): E => {
  if (state !== null) states.set(error, state)
  return error
}

/** The bucket that a refusal was counted in. */
export const stateOf = (error: PublicError): BucketState | null => states.get(error) ?? null

export class RateLimits extends Effect.Service<RateLimits>()("@posthorn/server/RateLimits", {
  effect: Effect.gen(function* () {
    const counters = yield* RateCounters
    const { quotas } = yield* ServerConfig

    const count = (
      bucket: Bucket,
      key: string,
      { limit, windowSeconds }: Quota
    ): Effect.Effect<BucketState, RateLimited> =>
      Effect.flatMap(counters.hit(`${bucket}:${key}`, windowSeconds * 1000), ({ count, leftMs }) => {
        const resetSeconds = Math.max(1, Math.ceil(leftMs / 1000))
        const state = { bucket, limit, windowSeconds, remaining: Math.max(0, limit - count), resetSeconds }
        return count <= limit
          ? Effect.succeed(state)
          : Effect.fail(reporting(new RateLimited({ bucket, retryAfterSeconds: resetSeconds }), state))
      })

    /** Count one call; `RateLimited` when the bucket is empty, null when it is off. */
    const take = (bucket: Bucket, key: string): Effect.Effect<BucketState | null, RateLimited> => {
      const quota = quotas[bucket]
      return quota === null ? Effect.succeed(null) : count(bucket, key, quota)
    }

    /**
     * The same, and counted for the caller's workspace as well, which has `WORKSPACE_SHARE` times the quota: more tokens are
     * no way around the limits. A call that its own bucket refuses is not counted there. Gives the tighter of the two.
     */
    const takeFor = (
      bucket: Bucket,
      key: string,
      workspaceId: string | null
    ): Effect.Effect<BucketState | null, RateLimited> =>
      Effect.flatMap(take(bucket, key), (own) => {
        if (own === null || workspaceId === null) return Effect.succeed(own)
        const quota = { limit: own.limit * WORKSPACE_SHARE, windowSeconds: own.windowSeconds }
        return Effect.map(count(bucket, workspaceId, quota), (shared) =>
          shared.remaining < own.remaining ? shared : own
        )
      })

    return { take, takeFor } as const
  })
}) {}

/** Headers of the IETF draft. */
export const headersOf = (state: BucketState): Record<string, string> => ({
  "ratelimit-policy": `"${state.bucket}";q=${state.limit};w=${state.windowSeconds}`,
  ratelimit: `"${state.bucket}";r=${state.remaining};t=${state.resetSeconds}`
})

/** What an address counts as: an IPv6 client has a whole /64 to itself, so that counts as one. */
export const clientKey = (address: string): string => {
  const plain = address.startsWith("::ffff:") ? address.slice(7) : address
  if (!plain.includes(":")) return plain
  const [head = "", tail = ""] = plain.split("%")[0]!.split("::")
  const left = head === "" ? [] : head.split(":")
  const right = tail === "" ? [] : tail.split(":")
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0")
  return [...left, ...zeros, ...right].slice(0, 4).join(":")
}
