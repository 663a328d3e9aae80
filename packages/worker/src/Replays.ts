/**
 * Makes the replay jobs of the endpoints whose shards are this worker's, step by step.
 *
 * A step is one transaction of at most `BATCH` replays, and is made only while the endpoint has fewer than `ROOM`
 * deliveries waiting: so a job goes as fast as its endpoint takes it, and what is published meanwhile waits behind no
 * more than that. Nothing is remembered here: a worker that dies leaves a row that another goes on with.
 * Source: decision §4 and §10 (Replay jobs), docs/adr/0017-replay-jobs.md.
 */
import { ReplaySteps, type RunningReplay } from "@posthorn/persistence/ReplaySteps"
import { Effect, Schedule } from "effect"

const BATCH = 100
const ROOM = 200
/** How soon a started job is begun, and one that waits is looked at again. */
const LOOK = Schedule.spaced("500 millis")
/** Between two steps of a job, so that jobs never take more than a part of the database's time. */
const PAUSE = "10 millis"

export const make = Effect.map(ReplaySteps, (steps) => {
  const go = (replay: RunningReplay): Effect.Effect<void, unknown> =>
    steps.step(replay, BATCH, ROOM).pipe(
      // Its transaction ends one way or the other, also when the worker stops just now.
      Effect.uninterruptible,
      Effect.flatMap(({ outcome }) => (outcome === "stepped" ? Effect.delay(go(replay), PAUSE) : Effect.void))
    )

  const look = (shards: ReadonlyArray<number>) =>
    shards.length === 0
      ? Effect.void
      : steps.running(shards).pipe(
          // One after the other would let a large job hold up the others.
          Effect.flatMap(Effect.forEach(go, { concurrency: "unbounded", discard: true })),
          Effect.catchAll((error) => Effect.logWarning("Replay jobs cannot go on just now", error))
        )

  return {
    /** `shards`: those that are this worker's now. */
    run: (shards: () => ReadonlyArray<number>): Effect.Effect<unknown> =>
      Effect.repeat(
        Effect.suspend(() => look(shards())),
        LOOK
      )
  }
})
