/**
 * Advances replay jobs, step by step, for the endpoints whose shards this worker holds.
 *
 * A step is one transaction of at most `BATCH` replays, made only while fewer than `ROOM` deliveries of the endpoint are
 * waiting. So a job is no faster than its endpoint, and events published meanwhile wait behind at most `ROOM` deliveries. Small
 * steps with pauses keep other endpoints' deliveries prompt: a worker makes at most about 450 replays a second for one workspace, and
 * 900 for all. The state of a
 * job is in its row, so after a crash another worker continues it.
 * Source: spec §4.6, docs/adr/0017-replay-jobs.md.
 */
import { ReplaySteps, type RunningReplay } from "@posthorn/persistence/engine/ReplaySteps"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { makeTrouble, reasonOf } from "@posthorn/telemetry/Trouble"
import { Effect } from "effect"
import { replayed } from "../EngineMeters.ts"
import { Signal } from "../internal/Signal.ts"
import * as Schedules from "../Schedules.ts"

const BATCH = 10
const ROOM = 200
/** Pause for a job whose step failed, for example on a lock. Other jobs go on meanwhile. */
const REST_MS = 5_000
/** Pause between steps, so that jobs take only a part of the database's time. */
const PAUSE = "20 millis"
/**
 * Workspaces that step at once. One beside three others keeps half of its speed, two keep all of theirs, and live traffic never has
 * more than two steps beside it.
 */
const AT_ONCE = 2

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

/** `waiting`: there are jobs, but none could advance. */
type Round = "stepped" | "waiting" | "none"

const tell = ({ id, workspaceId }: RunningReplay, message: string) =>
  Effect.annotateLogs(Effect.logInfo(message), { workspaceId, replayId: id })

export interface Replays {
  /** A job was started, or may go on. */
  readonly lookAgain: () => void
  /** `shards` returns those that this worker holds. Runs until interrupted. */
  readonly run: (shards: () => ReadonlyArray<number>) => Effect.Effect<never>
}

export const makeReplays = Effect.map(ReplaySteps, (steps): Replays => {
  const trouble = makeTrouble("Replay jobs cannot go on", "Replay jobs go on again")
  const started = new Signal()

  /** Whether there is more to do. */
  const step = (replay: RunningReplay) =>
    steps.step(replay, BATCH, ROOM).pipe(
      // The step's transaction commits or rolls back even if the worker stops meanwhile.
      Effect.uninterruptible,
      Effect.tap(({ made, outcome }) => {
        replayed(made)
        return outcome === "finished" ? tell(replay, "Replay job finished") : Effect.void
      }),
      Effect.map(({ outcome }) => outcome === "stepped"),
      Effect.tap((stepped) => (stepped ? Effect.sleep(PAUSE) : Effect.void))
    )

  /** Paused jobs, and until when. */
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

  /** By workspace: the job that advanced last. */
  const latest = new Map<string, string>()

  /** A workspace's turn: one step of the job that has waited longest and can advance. */
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
   * Workspaces take turns, `AT_ONCE` at a time. So many jobs burden live traffic no more than two jobs do, and a workspace with
   * many jobs burdens the others no more than one with a single job. One job's failure does not affect the others.
   */
  const round = (shards: ReadonlyArray<number>): Effect.Effect<Round> =>
    Effect.gen(function* () {
      if (shards.length === 0) return "none"
      const now = yield* elapsedNow
      for (const [id, until] of resting) if (until <= now) resting.delete(id)
      const running = yield* steps.running(shards)
      const jobs = byWorkspace(running.filter(({ id }) => !resting.has(id)))
      for (const workspaceId of latest.keys()) if (!jobs.has(workspaceId)) latest.delete(workspaceId)
      const stepped = yield* Effect.forEach(jobs, ([workspaceId, all]) => turn(workspaceId, all), {
        concurrency: AT_ONCE
      })
      return stepped.includes(true) ? "stepped" : running.length > 0 ? "waiting" : "none"
    }).pipe(Effect.catchAll((error) => Effect.as(trouble.failed(reasonOf(error)), "waiting" as const)))

  const rest = (round: Round): Effect.Effect<void> =>
    round === "stepped"
      ? Effect.void
      : started.waitAtMost(round === "none" ? Schedules.untoldReplaysMs : Schedules.waitingReplaysMs)

  return {
    lookAgain: started.notify,
    run: (shards) =>
      Effect.forever(
        Effect.flatMap(
          Effect.suspend(() => round(shards())),
          rest
        )
      )
  }
})
