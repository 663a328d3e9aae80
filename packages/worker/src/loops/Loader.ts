/**
 * Loads the deliveries to send next: picks them in turn, and fetches payloads and endpoints in one statement.
 *
 * Batches grow with the load. PayloadReader.ts reads large payloads. Claims of deliveries in doubt are stored first. Each picked
 * delivery is made ready, requeued or gone, even if the worker stops. Without the lease nothing is picked. After an answer later than
 * `lateMs()` its deliveries are requeued, and the next load has at most half as many. Source: spec §3.1, §8 and §3.4 (Snapshot,
 * Poison), ADR 10 and 12.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { MAX_CLAIMS } from "@posthorn/domain/Verdict"
import type { Content } from "@posthorn/persistence/engine/Queue"
import { elapsed, elapsedNow } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, reporting } from "@posthorn/telemetry/Trouble"
import { Data, Effect } from "effect"
import type { Loaded } from "../dispatcher/Dispatched.ts"
import type { Waiting } from "../dispatcher/Lane.ts"
import type { Parts } from "../Parts.ts"
import { schedulesOf } from "../Schedules.ts"

type LoaderParts = Pick<
  Parts,
  "clock" | "databaseClock" | "dispatcher" | "later" | "ownership" | "queue" | "resolve" | "tuning"
>

/** A load's answer is late after this many round trips. */
const ROUND_TRIPS = 2.5
const LATEST_MS = 10_000

class LateAnswer extends Data.TaggedError("LateAnswer")<{ readonly message: string }> {}

export const makeLoader = (
  { clock, databaseClock, dispatcher, later, ownership, queue, resolve, tuning }: LoaderParts,
  fillSlots: Effect.Effect<void>
): Effect.Effect<never> => {
  const trouble = makeTrouble("Deliveries cannot be loaded", "Deliveries can be loaded again")

  /** Stores claims of deliveries in doubt. Returns the deliveries that may be sent. */
  const countInDoubt = (loaded: ReadonlyArray<Loaded>): Effect.Effect<ReadonlyArray<Loaded>, SqlError> => {
    const claims = dispatcher.inDoubt.toCount(loaded.map(({ row }) => row))
    if (claims.length === 0) return Effect.succeed(loaded)
    return Effect.map(queue.countClaims(claims, MAX_CLAIMS, true), (outcomes) => {
      const asked = new Set(claims.map(({ row }) => row.deliveryId))
      const mayBeSent = ({ row }: Loaded) =>
        !asked.has(row.deliveryId) || outcomes.get(row.deliveryId) === "counted"
      for (const { row } of claims)
        if (outcomes.get(row.deliveryId) === "counted") dispatcher.inDoubt.written(row)
      const others = loaded.filter((one) => !mayBeSent(one)).map(({ row }) => row)
      dispatcher.postpone(others.filter(({ deliveryId }) => outcomes.get(deliveryId) === "blocked"))
      for (const row of others) if (outcomes.get(row.deliveryId) !== "blocked") dispatcher.gone(row)
      if (others.some(({ deliveryId }) => outcomes.get(deliveryId) === "given_up"))
        dispatcher.givenUp.notify()
      return loaded.filter(mayBeSent)
    })
  }

  /** Reads when attempts under a limit started, if this worker has not read it yet. */
  const holdRateLimits = (
    rows: ReadonlyArray<Waiting>,
    contents: ReadonlyArray<Content | null>
  ): Effect.Effect<void, SqlError> => {
    const unread = dispatcher.rateLimits.hold(
      rows,
      contents.map((content) => content?.endpoint && resolve(content.endpoint.policy).rateLimit)
    )
    if (unread.length === 0) return Effect.void
    const asked = unread.map(({ lane: { endpointId, workspaceId }, window: { limit, mostUnrecorded } }) => {
      return { workspaceId, endpointId, ...limit, mostUnrecorded }
    })
    return Effect.zipWith(queue.startsSince(asked), elapsedNow, (starts, now) =>
      dispatcher.rateLimits.read(unread, starts, now)
    )
  }

  /** The most deliveries of one load. A late answer sets it to half of what that load had; each answer in time doubles it. */
  let most = Number.POSITIVE_INFINITY

  /** Where the database is slow or far away, every answer takes long: then the bound follows the round trip. */
  const lateMs = (): number =>
    Math.max(tuning.lateMs, Math.min(ROUND_TRIPS * databaseClock.roundTripMs(), LATEST_MS))

  const load = (picked: ReadonlyArray<Waiting>): Effect.Effect<void, SqlError | LateAnswer> =>
    Effect.gen(function* () {
      const asked = yield* elapsedNow
      const found = yield* queue.load(picked)
      const now = yield* elapsedNow
      if (now - asked > lateMs()) {
        most = Math.max(1, picked.length >> 1)
        return yield* new LateAnswer({ message: `The answer took ${Math.round(now - asked)} ms` })
      }
      most *= 2
      const rows: Array<Waiting> = []
      const contents: Array<Content | null> = []
      for (const [n, row] of picked.entries()) {
        const content = dispatcher.complete(row, found[n] ?? null)
        if (content === undefined) continue
        rows.push(row)
        contents.push(content)
      }
      yield* holdRateLimits(rows, contents)
      const loaded = rows.flatMap((row, n) => dispatcher.loaded(row, contents[n] ?? null, now) ?? [])
      dispatcher.prefetch.measure(now)
      dispatcher.makeReady(yield* countInDoubt(loaded))
      yield* fillSlots
    })

  let lookingAgain = false
  /** One timer for all waits. A timer for each would cost 2 us a delivery. */
  const lookAgain = (): void => {
    if (lookingAgain) return
    lookingAgain = true
    later(tuning.freshMs, () => {
      lookingAgain = false
      dispatcher.toLoad.notify()
    })
  }

  const turn: Effect.Effect<void, SqlError> = Effect.suspend(() => {
    if (!ownership.holdsLease()) return Effect.sleep(tuning.uncertainPauseMs)
    dispatcher.refresh(elapsed(clock))
    const wanted = dispatcher.prefetch.mayPick
    const picked = wanted > 0 ? dispatcher.pick(Math.min(wanted, most)) : []
    if (picked.length === 0) {
      // Deliveries without a slot must not block others for longer than they stay fresh.
      if (dispatcher.ready.length > 0) lookAgain()
      return dispatcher.toLoad.wait
    }
    const isToRequeue = (row: Waiting) => row.stage === "loading" && !dispatcher.largePayloads.isUnread(row)
    const requeue = Effect.sync(() => dispatcher.requeue(picked.filter(isToRequeue)))
    return load(picked).pipe(
      reporting(trouble),
      Effect.onError(() => requeue),
      Effect.catchTag("LateAnswer", () => Effect.void),
      Effect.uninterruptible
    )
  })

  return Effect.forever(turn).pipe(Effect.retry(schedulesOf(tuning).loadAgain), Effect.orDie)
}
