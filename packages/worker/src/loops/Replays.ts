/**
 * Makes the replay jobs of the endpoints whose shards are this worker's, step by step.
 *
 * A step is one transaction of at most `BATCH` replays, and is made only while the endpoint has fewer than `ROOM`
 * deliveries waiting: so a job goes no faster than its endpoint takes it, and what is published meanwhile waits behind no
 * more than that. Small steps with pauses keep the other endpoints' deliveries prompt: at most about 450 replays a second
 * and worker. Nothing is remembered here: a worker that dies leaves a row that another goes on with.
 * Source: spec §4.6, docs/adr/0017-replay-jobs.md.
 */
import { ReplaySteps, type RunningReplay } from "@posthorn/persistence/engine/ReplaySteps"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, reasonOf } from "@posthorn/telemetry/Trouble"
import { Effect } from "effect"
import { replayed } from "../EngineMeters.ts"
import { Wake } from "../internal/Wake.ts"
import * as Schedules from "../Schedules.ts"

const BATCH = 10
const ROOM = 200
/** A job whose step failed, such as for a lock that it waited for, is left alone for so long: others do not wait with it. */
const REST_MS = 5_000
/** Between two steps, so that jobs never take more than a part of the database's time. */
const PAUSE = "20 millis"

/** The jobs of each workspace. */
const byWorkspace = (running: ReadonlyArray<RunningReplay>) => {
  const jobs = new Map<string, Array<RunningReplay>>()
  for (const replay of running) {
    const others = jobs.get(replay.workspaceId)
    if (others === undefined) jobs.set(replay.workspaceId, [replay])
    else others.push(replay)
  }
  return jobs
}

/** `waiting`: there are jobs, and none could be gone on with. */
type Round = "stepped" | "waiting" | "none"

const tell = ({ id, workspaceId }: RunningReplay, message: string) =>
  Effect.annotateLogs(Effect.logInfo(message), { workspaceId, replayId: id })

export interface Replays {
  /** Somebody says that a job was started, or that one may go on. */
  readonly lookAgain: () => void
  /** `shards`: those that are this worker's now. Runs until interrupted. */
  readonly run: (shards: () => ReadonlyArray<number>) => Effect.Effect<never>
}

export const makeReplays = Effect.map(ReplaySteps, (steps): Replays => {
  const trouble = makeTrouble("Replay jobs cannot go on", "Replay jobs go on again")
  const started = new Wake()

  /** Whether there is more to do. */
  const step = (replay: RunningReplay) =>
    steps.step(replay, BATCH, ROOM).pipe(
      // Its transaction ends one way or the other, also when the worker stops just now.
      Effect.uninterruptible,
      Effect.tap(({ made, outcome }) => {
        replayed(made)
        return outcome === "finished" ? tell(replay, "Replay job finished") : Effect.void
      }),
      Effect.map(({ outcome }) => outcome === "stepped"),
      Effect.tap((stepped) => (stepped ? Effect.sleep(PAUSE) : Effect.void))
    )

  /** Jobs that are left alone, and until when. */
  const resting = new Map<string, number>()

  const tryStep = (replay: RunningReplay) =>
    step(replay).pipe(
      Effect.zipLeft(trouble.over),
      Effect.catchAll((error) =>
        Effect.zipRight(
          trouble.failed(reasonOf(error)),
          Effect.map(elapsedNow, (now) => {
            resting.set(replay.id, now + REST_MS)
            return false
          })
        )
      )
    )

  /** By workspace: the job that was gone on with last. */
  const latest = new Map<string, string>()

  /** A workspace's turn: a step of one of its jobs, the one that has waited for longest and can be gone on with. */
  const turn = (workspaceId: string, jobs: ReadonlyArray<RunningReplay>) =>
    Effect.gen(function* () {
      const last = latest.get(workspaceId) ?? ""
      for (const replay of [...jobs.filter(({ id }) => id > last), ...jobs.filter(({ id }) => id <= last)]) {
        latest.set(workspaceId, replay.id)
        if (yield* tryStep(replay)) return true
      }
      return false
    })

  /**
   * A turn of each workspace, one after the other: however many jobs there are, they take no more from live traffic than
   * one, and a workspace with many no more from the others than one with one. What goes wrong with one is no matter of the
   * others.
   */
  const round = (shards: ReadonlyArray<number>): Effect.Effect<Round> =>
    Effect.gen(function* () {
      if (shards.length === 0) return "none"
      const now = yield* elapsedNow
      for (const [id, until] of resting) if (until <= now) resting.delete(id)
      const running = yield* steps.running(shards)
      const jobs = byWorkspace(running.filter(({ id }) => !resting.has(id)))
      for (const workspaceId of latest.keys()) if (!jobs.has(workspaceId)) latest.delete(workspaceId)
      const stepped = yield* Effect.forEach(jobs, ([workspaceId, all]) => turn(workspaceId, all))
      return stepped.includes(true) ? "stepped" : running.length > 0 ? "waiting" : "none"
    }).pipe(Effect.catchAll((error) => Effect.as(trouble.failed(reasonOf(error)), "waiting" as const)))

  const rest = (round: Round): Effect.Effect<void> =>
    round === "stepped"
      ? Effect.void
      : started.waitAtMost(round === "none" ? Schedules.untoldReplaysMs : Schedules.waitingReplaysMs)

  return {
    lookAgain: started.raise,
    run: (shards) =>
      Effect.forever(
        Effect.flatMap(
          Effect.suspend(() => round(shards())),
          rest
        )
      )
  }
})
