/**
 * Replay jobs as a worker reads them. A step is one transaction under a lock on the job's row (migrations/0007_replays.sql).
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import { Context, Effect, Layer, Schema } from "effect"
import { Count, Id } from "../client/internal/Columns.ts"
import { rows } from "../client/Rows.ts"

const RunningReplay = Schema.Struct({ workspaceId: Id("workspace"), id: Id("replay") })
export type RunningReplay = typeof RunningReplay.Type

/** See `posthorn.replay_step`. */
const StepOutcome = Schema.Literal("stepped", "waiting", "finished", "idle")
export type StepOutcome = typeof StepOutcome.Type

const Step = Schema.Struct({ outcome: StepOutcome, made: Count })
export type Step = typeof Step.Type

export class ReplaySteps extends Context.Tag("@posthorn/persistence/engine/ReplaySteps")<
  ReplaySteps,
  {
    /** Of enabled endpoints, workspaces in turn, at most three of a workspace. */
    readonly running: (shards: ReadonlyArray<number>) => Effect.Effect<ReadonlyArray<RunningReplay>, SqlError>
    readonly step: (replay: RunningReplay, batch: number, room: number) => Effect.Effect<Step, SqlError>
  }
>() {}

export const layer: Layer.Layer<ReplaySteps, never, SqlClient.SqlClient> = Layer.effect(
  ReplaySteps,
  Effect.map(SqlClient.SqlClient, (sql) => ({
    running: (shards) =>
      rows(sql, RunningReplay)`select r.workspace_id as "workspaceId", r.id from posthorn.replays r
        join posthorn.endpoints e on e.workspace_id = r.workspace_id and e.id = r.endpoint_id
        where r.state = 'running' and r.shard = any (${shards as Array<number>}::smallint[]) and e.enabled
          and not posthorn.replay_is_queued(r.workspace_id, r.id)
        order by r.workspace_id, r.id`,
    step: ({ id, workspaceId }, batch, room) =>
      Effect.map(
        rows(sql, Step)`
          select outcome, made from posthorn.replay_step(${workspaceId}, ${id}, ${batch}, ${room})`,
        ([step]) => step!
      )
  }))
)
