/** A worker that outlives its database's history: what it remembers of endpoints is never used for what they are now. */
import { expect, it } from "@effect/vitest"
import { newId } from "@posthorn/domain/Ids"
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import { Effect, Redacted } from "effect"
import pg from "pg"
import * as Database from "../src/Database.ts"
import * as Queue from "../src/Queue.ts"

const [workspaceId, endpointId] = [newId("workspace"), newId("endpoint")]

const CREATED = `
  insert into posthorn.workspaces (id, slug, name) values ('${workspaceId}', 'acme', 'Acme');
  insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
    values ('${workspaceId}', '${endpointId}', 'https://example.com/', '{*}', true, '\\x00');
  select posthorn.publish('acme', 'a', '{}')`

type Client = InstanceType<typeof pg.Client>

const connected = <A>(cluster: OwnCluster.OwnCluster, act: (client: Client) => Promise<A>) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: Redacted.value(cluster.url) })
    await client.connect()
    try {
      return await act(client)
    } finally {
      await client.end()
    }
  })

const nextId = async (client: Client) =>
  Number((await client.query("select pg_current_xact_id()::text as id")).rows[0].id)

/** Changes the endpoint's URL in the transaction that has this id. */
const repoint = (cluster: OwnCluster.OwnCluster, url: string, transaction: number) =>
  connected(cluster, async (client) => {
    for (;;) {
      await client.query("begin")
      const id = await nextId(client)
      if (id > transaction) throw new Error(`Transaction ${transaction} was somebody else's`)
      if (id === transaction) await client.query("update posthorn.endpoints set url = $1", [url])
      await client.query("commit")
      if (id === transaction) return
    }
  })

const WAITING = `select workspace_id as "workspaceId", delivery_id as "deliveryId", endpoint_id as "endpointId", shard,
  due_at::text as due, attempts, take_ups as "takeUps" from posthorn.queue`

it.scopedLive(
  "decision §7 (Snapshot) dispatches to an endpoint as it is, also in a database that was restored under the worker and counts its transactions again",
  () =>
    Effect.gen(function* () {
      const cluster = yield* OwnCluster.make
      yield* connected(cluster, (client) => client.query(CREATED))
      const { rows: waiting } = yield* connected(cluster, (client) => client.query(WAITING))
      yield* cluster.stop
      yield* cluster.save
      yield* cluster.start

      yield* Effect.gen(function* () {
        const queue = yield* Queue.Queue
        const urls = Effect.map(queue.load(waiting), (found) => found.map((one) => one?.endpoint.url))
        const same = (yield* connected(cluster, nextId)) + 100
        yield* repoint(cluster, "https://example.com/before", same)
        const before = yield* urls
        yield* cluster.stop
        yield* cluster.restore
        yield* cluster.start
        yield* repoint(cluster, "https://example.com/after", same)

        expect(before).toEqual(["https://example.com/before"])
        expect(yield* urls).toEqual(["https://example.com/after"])
      }).pipe(
        Effect.provide(Queue.layer),
        Effect.provide(
          Database.layer({ url: cluster.url, applicationName: "posthorn-test", maxConnections: 2 })
        )
      )
    }),
  60_000
)
