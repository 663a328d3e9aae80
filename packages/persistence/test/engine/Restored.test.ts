/**
 * A database that is restored to an earlier state under a worker: the worker never uses outdated endpoints from its memory.
 */
import { expect, it } from "@effect/vitest"
import { newId } from "@posthorn/domain/Ids"
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import { connectTo } from "@posthorn/testkit/Seeds"
import { Effect, Redacted } from "effect"
import * as Database from "../../src/client/Database.ts"
import * as Queue from "../../src/engine/Queue.ts"

const [workspaceId, endpointId] = [newId("workspace"), newId("endpoint")]

const CREATED = `
  insert into posthorn.workspaces (id, slug, name) values ('${workspaceId}', 'acme', 'Acme');
  insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
    values ('${workspaceId}', '${endpointId}', 'https://example.com/', '{*}', true, '\\x00');
  select posthorn.publish('acme', 'a', '{}')`

type Ask = Effect.Effect.Success<ReturnType<typeof connectTo>>

/** On a connection of its own. */
const connected = <A>({ url }: OwnCluster.OwnCluster, act: (ask: Ask) => Effect.Effect<A>) =>
  Effect.scoped(Effect.flatMap(connectTo(Redacted.value(url)), act))

const nextId = (ask: Ask) =>
  Effect.map(ask("select pg_current_xact_id()::text as id"), ([row]) => Number(row!.id))

/** Changes the endpoint's URL in the transaction with this id. */
const repoint = (cluster: OwnCluster.OwnCluster, url: string, transaction: number) =>
  connected(cluster, (ask) =>
    Effect.gen(function* () {
      for (let id = 0; id !== transaction; ) {
        yield* ask("begin")
        id = yield* nextId(ask)
        if (id > transaction) yield* Effect.dieMessage(`Transaction ${transaction} was somebody else's`)
        if (id === transaction) yield* ask("update posthorn.endpoints set url = $1", url)
        yield* ask("commit")
      }
    })
  )

const WAITING = `select workspace_id as "workspaceId", delivery_id as "deliveryId", endpoint_id as "endpointId", shard,
  due_at::text as due, attempts, claims from posthorn.queue`

it.scopedLive(
  "§3.4 (Snapshot) uses the current endpoint, also in a database that was restored under the worker and counts its transactions again",
  () =>
    Effect.gen(function* () {
      const cluster = yield* OwnCluster.make
      yield* connected(cluster, (ask) => ask(CREATED))
      const waiting = (yield* connected(cluster, (ask) => ask(WAITING))) as never
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
    })
)
