/**
 * Advances replay jobs in steps for endpoints whose shards this worker holds. A step makes at most `BATCH` replays, and only
 * while fewer than `ROOM` deliveries of the endpoint wait: a new event waits behind no more replays. A worker makes about 450
 * replays a second for one workspace, 900 for all. A job's state is in its row. Source: spec §4.6, docs/adr/0017-replay-jobs.md.
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
/** For a job whose step failed, for example on a lock. */
const REST_MS = 5_000
/** Leaves the database most of its time. */
const PAUSE = "20 millis"
/** Workspaces whose jobs step at the same time: live traffic has at most two steps beside it. */
const AT_ONCE = 2

const byWorkspace = (running: ReadonlyArray<RunningReplay>) => {
  const jobs = new Map<string, Array<RunningReplay>>()
  for (const replay of running) {
    const others = jobs.get(replay.workspaceId)
    if (others === undefined) jobs.set(replay.workspaceId, [replay])
    else others.push(replay)
  }
  return jobs
}

type Round = "stepped" | "waiting" | "none"

const tell = ({ id, workspaceId }: RunningReplay, message: string) =>
  Effect.annotateLogs(Effect.logInfo(message), { workspaceId, replayId: id })

export interface Replays {
  readonly lookAgain: () => void
  readonly run: (shards: () => ReadonlyArray<number>) => Effect.Effect<never>
}

export const makeReplays = Effect.map(ReplaySteps, (steps): Replays => {
  const trouble = makeTrouble("Replay jobs cannot go on", "Replay jobs go on again")
  const started = new Signal()

  const step = (replay: RunningReplay) =>
    steps.step(replay, BATCH, ROOM).pipe(
      // The transaction ends even if the worker stops.
      Effect.uninterruptible,
      Effect.tap(({ made, outcome }) => {
        replayed(made)
        return outcome === "finished" ? tell(replay, "Replay job finished") : Effect.void
      }),
      Effect.map(({ outcome }) => outcome === "stepped"),
      Effect.tap((stepped) => (stepped ? Effect.sleep(PAUSE) : Effect.void))
    )

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

  const latest = new Map<string, string>()

  /** One step of the job that has waited longest and can advance. */
  const turn = (workspaceId: string, jobs: ReadonlyArray<RunningReplay>) =>
    Effect.gen(function* () {
      const last = latest.get(workspaceId) ?? ""
      for (const replay of [...jobs.filter(({ id }) => id > last), ...jobs.filter(({ id }) => id <= last)]) {
        latest.set(workspaceId, replay.id)
        if (yield* tryStep(replay)) return true
      }
      return false
    })

  /** Workspaces take turns, `AT_ONCE` at a time. One job's failure does not affect the others. */
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
