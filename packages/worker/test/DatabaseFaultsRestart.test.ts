/** The database is stopped and started under a worker process: the worker stays, and goes on. */
import { expect, it } from "@effect/vitest"
import * as Database from "@posthorn/persistence/Database"
import * as SecretBox from "@posthorn/persistence/SecretBox"
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { TestDatabaseUrl } from "@posthorn/testkit/TestPg"
import { Effect, Layer } from "effect"
import {
  endpoints,
  holding,
  lawsHold,
  publishTo,
  repeatsIn,
  tally,
  timed,
  within
} from "./processes/Story.ts"
import { startWorker } from "./processes/WorkerProcess.ts"
import { box, workspace } from "./Setting.ts"

/** The setting of the other tests, on a PostgreSQL of its own. */
const onOwnCluster = ({ url }: OwnCluster.OwnCluster) =>
  Layer.mergeAll(
    Layer.orDie(Database.layer({ url, applicationName: "posthorn-test", maxConnections: 4 })),
    Layer.succeed(TestDatabaseUrl, url),
    Layer.succeed(SecretBox.SecretBox, box)
  )

it.scopedLive(
  "decision §7 stays while the database is stopped, and goes on within 30 s of its start with nothing lost or repeated",
  () =>
    Effect.gen(function* () {
      const cluster = yield* OwnCluster.make
      const open: Array<() => void> = []
      const receiver = yield* makeReceiver({ behaviours: { "/held": holding(40, open) } })
      yield* Effect.gen(function* () {
        const acme = yield* workspace
        yield* endpoints(acme, 20, () => receiver.url("/held"))
        const worker = yield* startWorker()
        yield* publishTo(acme, 20, 20)
        yield* receiver.waitFor(40)

        yield* cluster.stop
        for (const answer of open.splice(0)) answer()
        yield* within(25, Effect.sync(worker.log), (log) => log.includes("The shards are lost for now"))
        yield* cluster.start
        const took = yield* timed(within(30, tally, (seen) => seen.delivered === 400))

        expect(took).toBeLessThan(30_000)
        expect(worker.running()).toBe(true)
        expect(repeatsIn(receiver.received)).toBe(0)
        yield* lawsHold
      }).pipe(Effect.provide(onOwnCluster(cluster)))
    }),
  60_000
)
