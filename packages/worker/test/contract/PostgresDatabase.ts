/** PostgreSQL with the migrations. Its clock cannot be moved, so `pass` moves what is stored into the past. */
import * as SqlClient from "@effect/sql/SqlClient"
import * as Queue from "@posthorn/persistence/engine/Queue"
import * as Records from "@posthorn/persistence/engine/Records"
import { Context, Effect, Layer } from "effect"
import { disable, enable, endpoint, publish, type Workspace, workspace } from "../Setting.ts"
import type { Database, EndpointRef } from "./Database.ts"

/** A workspace for each of these. */
export const postgresDatabase = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const services = yield* Layer.build(Layer.merge(Queue.layer, Records.layer))
  const queue = Context.get(services, Queue.Queue)
  const records = Context.get(services, Records.Records)
  const acme: Workspace = yield* workspace
  let made = 0
  const typeOf = new Map<string, string>()
  const given = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) =>
    Effect.orDie(Effect.provideService(effect, SqlClient.SqlClient, sql))
  const one = <A>(effect: Effect.Effect<ReadonlyArray<unknown>, unknown>) =>
    Effect.map(Effect.orDie(effect), ([row]) => row as A)
  const database: Database = {
    queue,
    records,
    endpoint: () =>
      given(
        Effect.gen(function* () {
          const type = `type${++made}`
          const { id } = yield* endpoint(acme, "https://example.com/", type)
          typeOf.set(id, type)
          const [row] = yield* sql<{ shard: number }>`select posthorn.shard_of(${id}) as shard`
          return { endpointId: id, workspaceId: acme.id, shard: row!.shard } satisfies EndpointRef
        })
      ),
    // Due times are truncated to milliseconds: each delivery gets one of its own.
    publish: ({ endpointId }) =>
      Effect.map(
        given(Effect.zipRight(sql`select pg_sleep(0.002)`, publish(acme, 1, typeOf.get(endpointId)!))),
        ([id]) => id ?? "none"
      ),
    pass: (ms) =>
      given(
        Effect.gen(function* () {
          if (ms > 0) {
            const by = sql`${ms} * interval '1 millisecond'`
            yield* sql`update posthorn.queue set due_at = due_at - ${by} where workspace_id = ${acme.id}`
            yield* sql`update posthorn.attempt_starts set at = at - ${by} where workspace_id = ${acme.id}`
            yield* sql`update posthorn.shards set in_doubt_until = in_doubt_until - ${ms} * 1000,
              stopped_at = stopped_at - ${ms} * 1000`
          }
          const [row] = yield* sql<{
            now: number
          }>`select (posthorn.micros(clock_timestamp()) / 1000)::float8 as now`
          return row!.now
        })
      ),
    enable: ({ endpointId }) => given(Effect.map(enable(endpointId), (rows) => rows.length > 0)),
    disable: ({ endpointId }) => given(disable(endpointId)),
    repolicy: ({ endpointId }, own) =>
      Effect.orDie(
        sql`update posthorn.endpoints set policy = ${own && JSON.stringify(own)}::jsonb where id = ${endpointId}`
      ),
    remove: ({ endpointId, workspaceId }) =>
      Effect.orDie(sql`select posthorn.remove_endpoint(${workspaceId}, ${endpointId}, 1000)`),
    take: (shard, owner) =>
      Effect.map(
        one<{ until: string | number | null }>(
          sql`select posthorn.take_shard(${shard}::smallint, ${owner}) as until`
        ),
        ({ until }) => (until === null ? null : Number(until))
      ),
    showLife: (owner) => Effect.orDie(sql`select posthorn.show_life(${owner})`),
    release: (shard, owner) => Effect.orDie(sql`select posthorn.release_shard(${shard}::smallint, ${owner})`),
    clearDoubt: (shard, owner) =>
      Effect.map(
        Effect.orDie(sql`select posthorn.clear_doubt(array[${shard}]::smallint[], ${owner}) as shard`),
        (cleared) => cleared.length > 0
      ),
    statuses: (ids) =>
      Effect.map(
        Effect.orDie(sql<{ told: string }>`select coalesce(d.status || ' ' || d.attempts, 'gone') as told
          from unnest(${ids}::text[]) with ordinality as w(id, n)
          left join posthorn.deliveries d on d.workspace_id = ${acme.id} and d.id = w.id order by w.n`),
        (rows) => rows.map(({ told }) => told)
      )
  }
  return database
})
