/**
 * Counts calls in Redis, so that all processes share one quota; in this process while Redis is unavailable.
 *
 * A request never waits long for Redis: a command has `COMMAND_MS`, and after a failure no call uses Redis for `RETRY_MS`; then
 * one call tries again. Meanwhile each process grants the full quota by itself. The client library is loaded only here, so
 * installations without REDIS_URL do not load it. Source: spec §8 and §8.1.
 */
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { type Clock, Effect, Layer, Redacted, Schema } from "effect"
import { type Count, type Counters, memoryCounters, RateCounters } from "./RateCounters.ts"

const COMMAND_MS = 100
const CONNECT_MS = 2_000
const START_MS = 500
const RETRY_MS = 1_000
const PREFIX = "posthorn:rate:"

/** One atomic step, so that no window is left without an expiry. */
const HIT = `
local count = redis.call("INCR", KEYS[1])
local left = redis.call("PTTL", KEYS[1])
if left < 0 then
  left = tonumber(ARGV[1])
  redis.call("PEXPIRE", KEYS[1], left)
end
return { count, left }`

const HitAnswer = Schema.Tuple(Schema.Number, Schema.Number)

type Hit = (key: string, windowMs: number) => Promise<Count>

/** Fails if it does not answer. */
export const askRedis = (url: Redacted.Redacted) =>
  Effect.tryPromise(async () => {
    const { createClient } = await import("@redis/client")
    const client = createClient({
      url: Redacted.value(url),
      socket: { connectTimeout: CONNECT_MS, reconnectStrategy: false }
    })
    client.on("error", () => {})
    try {
      await client.connect()
      await client.ping()
    } finally {
      client.destroy()
    }
  })

const connect = (url: Redacted.Redacted) =>
  Effect.promise(async () => {
    const { createClient } = await import("@redis/client")
    const client = createClient({
      url: Redacted.value(url),
      disableOfflineQueue: true,
      socket: { connectTimeout: CONNECT_MS, reconnectStrategy: (tries) => Math.min(tries * 100, RETRY_MS) }
    })
    // Outages are logged below, once. Without a listener the error would end the process.
    client.on("error", () => {})
    // Retries until it succeeds. The start waits a moment for it, so that even the first calls are counted together.
    const connected = client.connect().catch(() => {})
    await Promise.race([connected, new Promise((resolve) => setTimeout(resolve, START_MS).unref())])
    const hit: Hit = async (key, windowMs) => {
      const answer = await client.eval(HIT, { keys: [`${PREFIX}${key}`], arguments: [String(windowMs)] })
      const [count, leftMs] = Schema.decodeUnknownSync(HitAnswer)(answer)
      return { count, leftMs }
    }
    return { hit, end: () => client.destroy() }
  })

/** Counters in Redis, with this process's own as the fallback. */
const sharedCounters = (hit: Hit, clock: Clock.Clock): Counters => {
  const own = memoryCounters(clock)
  let askAgainAt = 0
  let away = false

  const changed = (nowAway: boolean) => {
    if (away === nowAway) return Effect.void
    away = nowAway
    return nowAway
      ? Effect.logWarning("Redis is away: rate limits are counted in this process meanwhile")
      : Effect.logInfo("Redis is back: rate limits are shared again")
  }

  const ask = (key: string, windowMs: number, now: number): Effect.Effect<Count> => {
    askAgainAt = now + RETRY_MS
    return Effect.tryPromise(() => hit(key, windowMs)).pipe(
      Effect.timeout(COMMAND_MS),
      Effect.tap(() => changed(false)),
      Effect.catchAll(() => {
        askAgainAt = now + RETRY_MS
        return Effect.zipRight(changed(true), own.hit(key, windowMs))
      })
    )
  }

  return {
    hit: (key, windowMs) =>
      Effect.suspend(() => {
        const now = elapsed(clock)
        return away && now < askAgainAt ? own.hit(key, windowMs) : ask(key, windowMs, now)
      })
  }
}

export const redisLive = (url: Redacted.Redacted): Layer.Layer<RateCounters> =>
  Layer.scoped(
    RateCounters,
    Effect.zipWith(
      Effect.acquireRelease(connect(url), ({ end }) => Effect.sync(end)),
      Effect.clock,
      ({ hit }, clock) => sharedCounters(hit, clock)
    )
  )
