/**
 * Loads what is to be sent next: picks whose turn it is, and fetches payloads and endpoints in one statement.
 *
 * It loads for free slots, and for those that will be free in a moment. So groups grow with the load, no slot waits for the
 * database while receivers are quick, and nothing is loaded ahead while they are slow. Deliveries in doubt, which a dead
 * worker may have held, are counted before they are ready. What is picked is either made ready, or given back, or gone, also
 * when the worker stops just now. Nothing is picked without holding the lease.
 *
 * What was read is as old as the asking, not as the answer. An answer that comes later than `lateMs` is dropped, and what it
 * was about is loaded again, half as many at a time: a large answer may be late each time where a smaller one is not.
 * Source: spec §3.1, §8 and §3.4 (Snapshot, Poison), docs/adr/0010-engine.md and 0012-poison.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { MAX_CLAIMS } from "@posthorn/domain/Verdict"
import { elapsed, elapsedNow } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, reporting } from "@posthorn/telemetry/Trouble"
import { Data, Effect } from "effect"
import type { Waiting } from "../lanes/Lane.ts"
import type { Loaded } from "../lanes/Stages.ts"
import type { Parts } from "../Parts.ts"
import { schedulesOf } from "../Schedules.ts"

type LoaderParts = Pick<Parts, "clock" | "lanes" | "ownership" | "queue" | "tuning">

/** What was read may have been changed since. */
class LateAnswer extends Data.TaggedError("LateAnswer")<{ readonly message: string }> {}

export const makeLoader = (
  { clock, lanes, ownership, queue, tuning }: LoaderParts,
  fillSlots: Effect.Effect<void>
): Effect.Effect<never> => {
  const trouble = makeTrouble("Deliveries cannot be loaded", "Deliveries can be loaded again")

  /** Those that may be sent: counted, when a worker that died may have held them. */
  const countInDoubt = (loaded: ReadonlyArray<Loaded>): Effect.Effect<ReadonlyArray<Loaded>, SqlError> => {
    const claims = lanes.toClaim(loaded)
    if (claims.length === 0) return Effect.succeed(loaded)
    return Effect.map(queue.countClaims(claims, MAX_CLAIMS, true), (outcomes) => {
      const asked = new Set(claims.map(({ row }) => row.deliveryId))
      const mayBeSent = ({ row }: Loaded) =>
        !asked.has(row.deliveryId) || outcomes.get(row.deliveryId) === "counted"
      for (const { row } of claims) if (outcomes.get(row.deliveryId) === "counted") lanes.claimed(row)
      const others = loaded.filter((one) => !mayBeSent(one)).map(({ row }) => row)
      // Somebody holds their rows: nobody waits for that.
      lanes.putOff(others.filter(({ deliveryId }) => outcomes.get(deliveryId) === "held"))
      for (const row of others) if (outcomes.get(row.deliveryId) !== "held") lanes.gone(row)
      if (others.some(({ deliveryId }) => outcomes.get(deliveryId) === "given_up")) lanes.givenUp.raise()
      return loaded.filter(mayBeSent)
    })
  }

  /** The most to load at once; answers that came in time double it, without end. */
  let most = Number.POSITIVE_INFINITY

  const load = (rows: ReadonlyArray<Waiting>): Effect.Effect<void, SqlError | LateAnswer> =>
    Effect.gen(function* () {
      const asked = yield* elapsedNow
      const contents = yield* queue.load(rows)
      const now = yield* elapsedNow
      if (now - asked > tuning.lateMs) {
        most = Math.max(1, rows.length >> 1)
        return yield* new LateAnswer({ message: `The answer took ${Math.round(now - asked)} ms` })
      }
      most *= 2
      const loaded = rows.flatMap((row, n) => lanes.loaded(row, contents[n] ?? null, now) ?? [])
      lanes.measure(now)
      lanes.makeReady(yield* countInDoubt(loaded))
      yield* fillSlots
    })

  let lookingAgain = false
  /** In a while, whatever happens. One timer at a time: one for each wait costs 2 us of CPU for each delivery. */
  const lookAgain = (): void => {
    if (lookingAgain) return
    lookingAgain = true
    lanes.later(tuning.freshMs, () => {
      lookingAgain = false
      lanes.toLoad.raise()
    })
  }

  const turn: Effect.Effect<void, SqlError> = Effect.suspend(() => {
    if (!ownership.holdsLease()) return Effect.sleep(tuning.uncertainPauseMs)
    lanes.refresh(elapsed(clock))
    const picked = lanes.mayPick > 0 ? lanes.pick(Math.min(lanes.mayPick, most)) : []
    if (picked.length === 0) {
      // What was loaded for slots that do not become free must not stand in the way for longer than it stays fresh.
      if (lanes.holdsLoaded) lookAgain()
      return lanes.toLoad.wait
    }
    const giveBack = Effect.sync(() => lanes.giveBack(picked.filter(({ stage }) => stage === "loading")))
    return load(picked).pipe(
      reporting(trouble),
      Effect.onError(() => giveBack),
      Effect.catchTag("LateAnswer", () => Effect.void),
      Effect.uninterruptible
    )
  })

  return Effect.forever(turn).pipe(Effect.retry(schedulesOf(tuning).loadAgain), Effect.orDie)
}
