/**
 * The API's buckets: one per kind of operation, counted per caller and per workspace, or per client address before
 * authentication.
 *
 * Exactly the first `quota` calls of a window pass; further ones are refused. Every answer to a counted call, including
 * refusals, has the headers of the IETF draft. Source: spec §8 and §8.1.
 */
import { HttpApp, HttpServerResponse } from "@effect/platform"
import type { Bucket, Quota } from "@posthorn/domain/Bucket"
import { RateLimited } from "@posthorn/domain/Errors"
import { Effect } from "effect"
import { ServerConfig } from "../ServerConfig.ts"
import { type Count, RateCounters } from "./RateCounters.ts"

/** How full a bucket is after a call. */
interface BucketState {
  readonly bucket: Bucket
  readonly limit: number
  readonly windowSeconds: number
  readonly remaining: number
  readonly resetSeconds: number
  /** Whether the call exceeds the quota. */
  readonly isOver: boolean
}

/** A workspace's quota, as a multiple of a caller's. */
const WORKSPACE_SHARE = 5

export class RateLimits extends Effect.Service<RateLimits>()("@posthorn/server/RateLimits", {
  effect: Effect.gen(function* () {
    const counters = yield* RateCounters
    const { quotas } = yield* ServerConfig

    const hit = (bucket: Bucket, key: string, { windowSeconds }: Quota) =>
      counters.hit(`${bucket}:${key}`, windowSeconds * 1000)

    /**
     * Counts one call of this caller; fails with `RateLimited` if the bucket is empty. A call in a workspace also counts for
     * the workspace, which has `WORKSPACE_SHARE` times the quota, so that more tokens are no way around the limits. A call that
     * the caller's own bucket refuses is not counted there. The answer reports the tighter of the two.
     */
    const take = (
      bucket: Bucket,
      key: string,
      workspaceId: string | null = null
    ): Effect.Effect<void, RateLimited> => {
      const quota = quotas[bucket]
      if (quota === null) return Effect.void
      const shared = { limit: quota.limit * WORKSPACE_SHARE, windowSeconds: quota.windowSeconds }
      return Effect.flatMap(hit(bucket, key, quota), (counted) => {
        const own = stateOf(bucket, quota, counted)
        if (own.isOver || workspaceId === null) return report(own)
        return Effect.flatMap(hit(bucket, workspaceId, shared), (counted) => {
          const all = stateOf(bucket, shared, counted)
          return report(all.isOver || all.remaining < own.remaining ? all : own)
        })
      })
    }

    /** Counts one call against a limit that the workspace has of its own. */
    const takeOwn = (bucket: Bucket, workspaceId: string, perMinute: number) => {
      const quota = { limit: perMinute, windowSeconds: 60 }
      return Effect.flatMap(hit(bucket, `own:${workspaceId}`, quota), (counted) =>
        report(stateOf(bucket, quota, counted))
      )
    }

    return { take, takeOwn } as const
  })
}) {}

const stateOf = (bucket: Bucket, { limit, windowSeconds }: Quota, { count, leftMs }: Count): BucketState => ({
  bucket,
  limit,
  windowSeconds,
  remaining: Math.max(0, limit - count),
  resetSeconds: Math.max(1, Math.ceil(leftMs / 1000)),
  isOver: count > limit
})

/** Adds the headers to every answer to a counted call. */
const report = (state: BucketState): Effect.Effect<void, RateLimited> =>
  Effect.zipRight(
    HttpApp.appendPreResponseHandler((_, response) =>
      Effect.succeed(HttpServerResponse.setHeaders(response, headersOf(state)))
    ),
    state.isOver ? Effect.fail(tooMany(state)) : Effect.void
  )

const tooMany = ({ bucket, resetSeconds }: BucketState) =>
  new RateLimited({ bucket, retryAfterSeconds: resetSeconds })

/** Headers of the IETF draft. */
export const headersOf = (state: BucketState): Record<string, string> => ({
  "ratelimit-policy": `"${state.bucket}";q=${state.limit};w=${state.windowSeconds}`,
  ratelimit: `"${state.bucket}";r=${state.remaining};t=${state.resetSeconds}`
})

/** The key for an address. An IPv6 client usually has a whole /64, so a /64 counts as one. */
export const clientKey = (address: string): string => {
  const plain = address.startsWith("::ffff:") ? address.slice(7) : address
  if (!plain.includes(":")) return plain
  const [head = "", tail = ""] = plain.split("%")[0]!.split("::")
  const left = head === "" ? [] : head.split(":")
  const right = tail === "" ? [] : tail.split(":")
  const zeros = Array.from({ length: Math.max(0, 8 - left.length - right.length) }, () => "0")
  return [...left, ...zeros, ...right].slice(0, 4).join(":")
}
