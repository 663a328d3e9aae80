/**
 * Rate limits: one bucket per kind of operation, counted per token, or per client address before authentication.
 *
 * Counting is `@effect/experimental`'s limiter. Source: spec §8, decision §6.
 */
import * as RateLimiter from "@effect/experimental/RateLimiter"
import type { Bucket } from "@posthorn/domain/Bucket"
import { RateLimited } from "@posthorn/domain/Errors"
import { Duration, Effect } from "effect"
import { ServerConfig } from "./ServerConfig.ts"

/** How full a bucket is after a call; null when the bucket is off. */
export interface BucketState {
  readonly bucket: Bucket
  readonly limit: number
  readonly windowSeconds: number
  readonly remaining: number
  readonly resetSeconds: number
}

const seconds = (duration: Duration.Duration) => Math.max(1, Math.ceil(Duration.toSeconds(duration)))

export class RateLimits extends Effect.Service<RateLimits>()("@posthorn/server/RateLimits", {
  effect: Effect.gen(function* () {
    const limiter = yield* RateLimiter.RateLimiter
    const { quotas } = yield* ServerConfig

    /** Count one call; `RateLimited` when the bucket is empty. */
    const take = (bucket: Bucket, key: string): Effect.Effect<BucketState | null, RateLimited> => {
      const quota = quotas[bucket]
      if (quota === null) return Effect.succeed(null)
      const window = Duration.seconds(quota.windowSeconds)
      return limiter.consume({ key: `${bucket}:${key}`, limit: quota.limit, window }).pipe(
        Effect.map(({ remaining, resetAfter }) => ({
          bucket,
          limit: quota.limit,
          windowSeconds: quota.windowSeconds,
          remaining,
          resetSeconds: seconds(resetAfter)
        })),
        Effect.catchAll((error) =>
          error.reason === "Exceeded"
            ? Effect.fail(new RateLimited({ bucket, retryAfterSeconds: seconds(error.retryAfter) }))
            : Effect.die(error)
        )
      )
    }

    return { take } as const
  })
}) {}

/** Headers of the IETF draft. */
export const headersOf = (state: BucketState): Record<string, string> => ({
  "ratelimit-policy": `"${state.bucket}";q=${state.limit};w=${state.windowSeconds}`,
  ratelimit: `"${state.bucket}";r=${state.remaining};t=${state.resetSeconds}`
})
