/**
 * Which shards are this worker's: one session advisory lock each, on one dedicated connection.
 *
 * Each heartbeat (1 s) asks PostgreSQL which workers there are: each holds a shared lock. Shards are divided among them in the
 * order of process ids; a worker hands over what is beyond its share, and locks what is missing and free. PostgreSQL frees a
 * dead worker's locks at once, a frozen one's after `idle_session_timeout` (5 s). After 3 s without an answered heartbeat (the
 * lease timeout) a worker starts nothing. Measured takeover: 0.25-0.65 s after kill -9, 4.8-5.6 s after a freeze.
 *
 * Any role that may connect can hold these locks: such a foreign session gets no share, and is logged. A worker whose clock is
 * 4 minutes off releases its shards.
 *
 * A lock is no fencing token: a late owner can post again, and its record is refused by the ordinal. Source:
 * docs/adr/0011-shard-ownership.md, spec §3.4 (Crash).
 */
import type { SqlError } from "@effect/sql/SqlError"
import { newTraceId } from "@posthorn/domain/TraceId"
import { DatabaseClock, describeOffset } from "@posthorn/persistence/client/DatabaseClock"
import { DedicatedConnections } from "@posthorn/persistence/client/DedicatedConnection"
import * as ShardLocks from "@posthorn/persistence/engine/ShardLocks"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, reasonOf } from "@posthorn/telemetry/Trouble"
import { Effect, FiberMap, Layer, LogLevel } from "effect"
import { wallTime } from "../internal/Signal.ts"
import * as Schedules from "../Schedules.ts"
import { HEARTBEAT_MS } from "../Schedules.ts"
import { type Owner, Ownership } from "./Ownership.ts"

export const LEASE_TIMEOUT_MS = 3_000

/**
 * How long until a frozen worker's shards have another owner. After the session's timeout another worker ends the heartbeat under
 * way (three statements); its next heartbeat takes the shards by the second statement.
 */
export const takeoverMs = (answerMs: number): number =>
  ShardLocks.IDLE_SESSION_TIMEOUT_MS + Math.max(HEARTBEAT_MS, 3 * answerMs) + 2 * answerMs

/** The wall clock may be set back, and the monotonic one stands still while the machine sleeps. */
interface Moment {
  readonly elapsed: number
  readonly wall: number
}

const NEVER: Moment = { elapsed: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY }

const isSince = (then: Moment, now: Moment) =>
  now.elapsed - then.elapsed < LEASE_TIMEOUT_MS && now.wall - then.wall < LEASE_TIMEOUT_MS

export const quota = (count: number, members: number, position: number): number =>
  Math.floor(count / members) + (position < count % members ? 1 : 0)

const tellShards = (message: string, shards: ReadonlyArray<number>, held: number, level = LogLevel.Info) =>
  Effect.annotateLogs(Effect.logWithLevel(level, message), { shards, held })

const plain = (text: string) => text.replace(/\p{C}/gu, "?")

const describe = ({ application, pid, role, shards }: ShardLocks.ForeignSession, shardCount: number) =>
  `Session ${pid} of the role ${plain(role)} (${plain(application)}) holds Posthorn's locks and is no worker: ` +
  `${shards} of ${shardCount} shards are not delivered. End it with pg_terminate_backend(${pid}), then see ` +
  '"Locks of foreign sessions" in docs/operate.md.'

export const layer = Layer.effect(
  Ownership,
  Effect.gen(function* () {
    const connections = yield* DedicatedConnections
    const clock = yield* Effect.clock
    const databaseClock = yield* DatabaseClock
    /** This worker's name is the same in all its sessions, so its own shards are not in doubt. */
    const me = newTraceId()
    const now = (): Moment => ({ elapsed: elapsed(clock), wall: wallTime(clock) })
    let lastHeartbeat = NEVER
    let told = ""
    const away = makeTrouble(
      "The shards are lost for now: no connection",
      "The connection for shards is back"
    )
    const wrongClock = makeTrouble(
      "This worker delivers nothing because of its clock",
      "This worker delivers again: its clock is right",
      LogLevel.Error
    )

    const tellForeignSessions = ({ foreignSessions, shardCount }: ShardLocks.Membership) => {
      const lines = foreignSessions.map((session) => describe(session, shardCount))
      if (told === lines.join()) return Effect.void
      told = lines.join()
      return lines.length === 0
        ? Effect.logInfo("No foreign session holds Posthorn's locks any more")
        : Effect.forEach(lines, (line) => Effect.logWarning(line), { discard: true })
    }

    const session = (owner: Owner) =>
      Effect.gen(function* () {
        const connection = yield* connections.open("posthorn shards")
        const locks = yield* ShardLocks.make(connection, me)
        let joined = yield* locks.join
        const owned = new Set<number>()
        const inDoubt = new Set<number>()
        const leaving = yield* FiberMap.make<number, void, SqlError>()
        yield* Effect.addFinalizer(() =>
          Effect.gen(function* () {
            lastHeartbeat = NEVER
            for (const shard of owned) owner.lost(shard)
            const clean = [...owned].filter(owner.idle)
            yield* Effect.ignore(Effect.timeout(Effect.interruptible(locks.release(clean)), "1 second"))
          })
        )

        /** Bounds each statement, not the heartbeat: with answers of 1 s a whole heartbeat may take longer. */
        const inTime = Effect.timeoutFail({
          duration: LEASE_TIMEOUT_MS,
          onTimeout: () => ShardLocks.noAnswer
        })

        const leave = (shard: number) =>
          owner.handOver(shard).pipe(
            Effect.zipRight(
              Effect.suspend(() => (owner.idle(shard) ? locks.release([shard]) : locks.revoke([shard])))
            ),
            Effect.tap(() => Effect.sync(() => owned.delete(shard))),
            Effect.tap(() => tellShards("Shard given back", [shard], owned.size))
          )

        const stepBack = Effect.gen(function* () {
          databaseClock.setStopped(true)
          yield* wrongClock.failed(`it is ${describeOffset(databaseClock.off())}. Set both by NTP`)
          if (joined) yield* inTime(locks.leave)
          joined = false
          for (const shard of owned)
            if (!(yield* FiberMap.has(leaving, shard))) yield* FiberMap.run(leaving, shard, leave(shard))
        })

        const balance = (membership: ShardLocks.Membership) =>
          Effect.gen(function* () {
            const staying = yield* Effect.filter([...owned], (shard) => FiberMap.has(leaving, shard), {
              negate: true
            })
            const mine = quota(membership.shardCount, membership.members, membership.position)
            for (const shard of staying.slice(mine)) yield* FiberMap.run(leaving, shard, leave(shard))
            const missing = membership.free.slice(0, Math.max(0, mine - staying.length))
            const taken = yield* inTime(locks.take(missing))
            for (const { shard, inDoubtUntil } of taken) {
              owned.add(shard)
              owner.taken(shard, inDoubtUntil)
              if (inDoubtUntil !== null) inDoubt.add(shard)
            }
            // The only worker takes all shards: not worth a line.
            const level = membership.members === 1 ? LogLevel.Debug : LogLevel.Info
            const numbers = taken.map(({ shard }) => shard)
            if (taken.length > 0) yield* tellShards("Shards taken", numbers, owned.size, level)
          })

        const clear = Effect.gen(function* () {
          for (const shard of inDoubt) if (!owned.has(shard)) inDoubt.delete(shard)
          for (const shard of yield* inTime(locks.clearDoubt([...inDoubt]))) {
            inDoubt.delete(shard)
            owner.cleared(shard)
          }
        })

        const heartbeat = Effect.gen(function* () {
          // The time of the question: a worker that froze may read an old answer.
          const asked = now()
          const membership = yield* inTime(locks.membership)
          lastHeartbeat = asked
          yield* away.over
          yield* databaseClock.measured(asked.elapsed, membership.now)
          yield* tellForeignSessions(membership)
          if (databaseClock.isTooFarOff()) return yield* stepBack
          databaseClock.setStopped(false)
          yield* wrongClock.over
          // Not joined: a foreign session held the workers' shared lock.
          if (joined) yield* Effect.zipRight(balance(membership), clear)
          else joined = yield* inTime(locks.join)
        })
        const heartbeats = Effect.repeat(heartbeat, Schedules.heartbeat)
        yield* Effect.raceFirst(Effect.raceFirst(heartbeats, FiberMap.join(leaving)), connection.broken)
      }).pipe(Effect.scoped)

    return {
      name: me,
      holdsLease: () => isSince(lastHeartbeat, now()) && !databaseClock.isTooFarOff(),
      keep: (owner) =>
        session(owner).pipe(
          Effect.tapError((error) => away.failed(reasonOf(error))),
          Effect.retry(Schedules.shardsAgain),
          Effect.orDie,
          Effect.zipRight(Effect.never)
        )
    }
  })
)
