/**
 * Loads what is to be sent next: picks whose turn it is, and fetches payloads and endpoints in one statement.
 *
 * It takes as many as there are free slots, and as will be free in a moment: so groups grow with the load, no slot waits for
 * the database while receivers are quick, and nothing is loaded ahead while they are slow. Deliveries that a dead worker may
 * have held are counted before they are ready to be sent. What is picked is either made ready, or given back, or gone, also
 * when the worker stops just now. Nothing is picked without certain ownership.
 * Source: spec §3.1 and §8, decision §7 (Snapshot, Poison), docs/adr/0010-engine.md and 0012-poison.md.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { MAX_TAKE_UPS } from "@posthorn/domain/Verdict"
import type { Loaded } from "@posthorn/persistence/Queue"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, telling } from "@posthorn/telemetry/Trouble"
import { Effect } from "effect"
import type { Row } from "./lanes/Lane.ts"
import type { Parts } from "./Parts.ts"
import { schedulesOf } from "./Schedules.ts"

export const makeLoader = ({ clock, lanes, ownership, queue, tuning }: Parts): Effect.Effect<never> => {
  const { slots } = lanes
  const trouble = makeTrouble("Deliveries cannot be loaded", "Deliveries can be loaded again")

  /** Those of the rows that may be sent: counted, when a worker that died may have held them. */
  const countSuspects = (rows: ReadonlyArray<Row>): Effect.Effect<ReadonlyArray<Row>, SqlError> => {
    const takeUps = lanes.suspects.toCount(rows)
    if (takeUps.length === 0) return Effect.succeed(rows)
    return Effect.map(queue.takeUp(takeUps, MAX_TAKE_UPS, true), (outcomes) => {
      const outcomeOf = ({ deliveryId }: Row) => outcomes.get(deliveryId)
      const counted = new Set(takeUps.map(({ row }) => row))
      const uncounted = rows.filter((row) => counted.has(row) && outcomeOf(row) !== "counted")
      for (const row of rows)
        if (counted.has(row) && outcomeOf(row) === "counted") lanes.suspects.written(row)
      // Somebody holds their rows: nobody waits for that.
      lanes.putOff(uncounted.filter((row) => outcomeOf(row) === "held"))
      for (const row of uncounted) if (outcomeOf(row) !== "held") lanes.gone(row)
      if (uncounted.some((row) => outcomeOf(row) === "buried")) lanes.givenUp.raise()
      return rows.filter((row) => !uncounted.includes(row))
    })
  }

  const makeReady = (rows: ReadonlyArray<Row>, found: ReadonlyArray<Loaded | null>, at: number) => {
    const loaded = rows.filter((row, n) => lanes.loaded(row, found[n] ?? null, at))
    slots.look(elapsed(clock))
    return Effect.map(countSuspects(loaded), (innocent) => lanes.makeReady(innocent))
  }

  /** What the Reader has loaded already goes first. */
  const load = (rows: ReadonlyArray<Row>): Effect.Effect<void, SqlError> =>
    Effect.gen(function* () {
      const { early } = lanes
      const found = early.take(rows, elapsed(clock) - tuning.freshMs)
      if (found.size > 0) yield* makeReady([...found.keys()], [...found.values()], early.at)
      const rest = found.size === 0 ? rows : rows.filter((row) => !found.has(row))
      if (rest.length > 0) yield* makeReady(rest, yield* queue.load(rest), elapsed(clock))
    })

  /** What was loaded for slots that did not become free is given back, and not so much is loaded ahead any more. */
  const refresh = (now: number): void => {
    if (now - slots.lookedAt <= tuning.freshMs) return
    lanes.giveBackReady((row) => lanes.isStale(row, now))
    slots.look(now)
  }

  const pick = (): ReadonlyArray<Row> => {
    if (!slots.ripe) return []
    const { free } = slots
    const picked = lanes.pick(slots.wanted)
    // Suspects are counted when they are loaded, so they are loaded only to be sent.
    if (picked.length <= free || !picked.some((row) => lanes.suspects.has(row))) return picked
    lanes.giveBack(picked.slice(Math.max(0, free)))
    return picked.slice(0, Math.max(0, free))
  }

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
    if (!ownership.certain()) return Effect.sleep(tuning.uncertainPauseMs)
    refresh(elapsed(clock))
    const picked = pick()
    if (picked.length === 0) {
      // What was loaded for slots that do not become free must not stand in the way for longer than it stays fresh.
      if (slots.loadsAhead || slots.ready.length > 0) lookAgain()
      return lanes.toLoad.wait
    }
    const giveBack = Effect.sync(() => lanes.giveBack(picked.filter(({ state }) => state === "loading")))
    return load(picked).pipe(
      telling(trouble),
      Effect.onError(() => giveBack),
      Effect.uninterruptible
    )
  })

  return Effect.forever(turn).pipe(Effect.retry(schedulesOf(tuning).loadAgain), Effect.orDie)
}
