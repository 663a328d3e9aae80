/**
 * Which shards are this worker's: one session advisory lock per shard, on one dedicated connection per worker.
 *
 * Each beat (1 s) asks PostgreSQL who is there: every worker holds one shared lock; the shards are divided among their
 * holders, by process id of the backend; what is too much is drained and then unlocked, what is missing is locked when
 * it is free. PostgreSQL frees the locks of a worker that died at once, of one that froze or lost its line after
 * `idle_session_timeout` (5 s). A worker that got no answer for 3 s (the fence) starts nothing, so it has stopped before
 * the server may free its locks. Measured takeover: 0.25-0.65 s after kill -9, 4.8-5.6 s after a freeze.
 *
 * Any role that may connect can hold these locks too, and so stop deliveries. Such a holder is no member, takes no share,
 * and is named in the log.
 *
 * A lock is no write fence: a late owner can still post a second time, and its record is refused by the ordinal.
 * Source: docs/adr/0011-shard-ownership.md, decision §7 (Crash).
 */
import type { SqlError } from "@effect/sql/SqlError"
import { newTraceId } from "@posthorn/domain/TraceId"
import { DedicatedConnections } from "@posthorn/persistence/DedicatedConnection"
import * as ShardLocks from "@posthorn/persistence/ShardLocks"
import { Effect, FiberMap, Layer, Schedule } from "effect"
import { elapsed } from "./internal/Elapsed.ts"
import { type Owner, Ownership } from "./Ownership.ts"

const BEAT_MS = 1_000
const FENCE_MS = 3_000
const RECONNECT_MS = 500

/** By two clocks: the wall clock may be set back, and the other one may stand still while the machine sleeps. */
interface Moment {
  readonly elapsed: number
  readonly wall: number
}

const NEVER: Moment = { elapsed: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY }

const isSince = (then: Moment, now: Moment) =>
  now.elapsed - then.elapsed < FENCE_MS && now.wall - then.wall < FENCE_MS

/** Our share of `count` shards among `members` workers, when we stand at `position`. */
export const quota = (count: number, members: number, position: number): number =>
  Math.floor(count / members) + (position < count % members ? 1 : 0)

const plain = (text: string) => text.replace(/\p{C}/gu, "?")

const describe = ({ application, pid, role, shards }: ShardLocks.Stranger, shardCount: number) =>
  `Session ${pid} of the role ${plain(role)} (${plain(application)}) holds Posthorn's locks and is no worker: ` +
  `${shards} of ${shardCount} shards are not delivered. End it with pg_terminate_backend(${pid}), then see ` +
  '"Locks of strangers" in docs/operate.md.'

export const layer = Layer.effect(
  Ownership,
  Effect.gen(function* () {
    const connections = yield* DedicatedConnections
    const clock = yield* Effect.clock
    /** The same in every session: taking back its own shards, a worker has nothing to suspect. */
    const me = newTraceId()
    const now = (): Moment => ({ elapsed: elapsed(clock), wall: clock.unsafeCurrentTimeMillis() })
    let lastBeat = NEVER
    let told = ""

    /** Once for each change. */
    const tellStrangers = ({ shardCount, strangers }: ShardLocks.Standing) => {
      const lines = strangers.map((stranger) => describe(stranger, shardCount))
      if (told === lines.join()) return Effect.void
      told = lines.join()
      return lines.length === 0
        ? Effect.logInfo("No stranger holds Posthorn's locks any more")
        : Effect.forEach(lines, (line) => Effect.logWarning(line), { discard: true })
    }

    const session = (owner: Owner) =>
      Effect.gen(function* () {
        const connection = yield* connections.open("posthorn shards")
        const locks = yield* ShardLocks.make(connection, me)
        let joined = yield* locks.join
        const owned = new Set<number>()
        const leaving = yield* FiberMap.make<number, void, SqlError>()
        yield* Effect.addFinalizer(() =>
          Effect.gen(function* () {
            lastBeat = NEVER
            for (const shard of owned) owner.lost(shard)
            const clean = [...owned].filter(owner.idle)
            yield* Effect.ignore(Effect.timeout(Effect.interruptible(locks.giveBack(clean)), "1 second"))
          })
        )

        const leave = (shard: number) =>
          owner.drained(shard).pipe(
            Effect.zipRight(
              Effect.suspend(() => (owner.idle(shard) ? locks.giveBack([shard]) : locks.letGo([shard])))
            ),
            Effect.tap(() => Effect.sync(() => owned.delete(shard)))
          )

        const balance = (standing: ShardLocks.Standing) =>
          Effect.gen(function* () {
            const staying = [...owned].filter((shard) => !FiberMap.unsafeHas(leaving, shard))
            const mine = quota(standing.shardCount, standing.members, standing.position)
            for (const shard of staying.slice(mine)) yield* FiberMap.run(leaving, shard, leave(shard))
            const missing = standing.free.slice(0, Math.max(0, mine - staying.length))
            for (const { shard, suspectUntil } of yield* locks.take(missing)) {
              owned.add(shard)
              owner.taken(shard, suspectUntil)
            }
          })

        const beat = Effect.gen(function* () {
          // When it was asked, not when the answer was read: a worker that froze in between reads an old answer.
          const asked = now()
          const standing = yield* locks.standing
          lastBeat = asked
          yield* tellStrangers(standing)
          // Somebody who can be no worker may hold what all workers share.
          if (joined) yield* balance(standing)
          else joined = yield* locks.join
        })
        const beats = Effect.repeat(
          Effect.timeoutFail(beat, {
            duration: FENCE_MS,
            onTimeout: () => ShardLocks.noAnswer
          }),
          Schedule.fixed(BEAT_MS)
        )
        yield* Effect.raceFirst(Effect.raceFirst(beats, FiberMap.join(leaving)), connection.broken)
      }).pipe(Effect.scoped)

    return {
      certain: () => isSince(lastBeat, now()),
      keep: (owner) =>
        session(owner).pipe(
          Effect.tapError((error) => Effect.logWarning("The shards are lost for now: no connection", error)),
          Effect.retry(Schedule.spaced(RECONNECT_MS)),
          Effect.orDie,
          Effect.zipRight(Effect.never)
        )
    }
  })
)
