/** What nobody ever sent is never given up as poison, however often shards change hands and however slow the line is. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import * as Database from "@posthorn/persistence/Database"
import * as SecretBox from "@posthorn/persistence/SecretBox"
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { TestDatabaseUrl } from "@posthorn/testkit/TestPg"
import { Effect, Layer, Redacted } from "effect"
import { makeLine, through } from "./processes/DatabaseLine.ts"
import {
  endpoints,
  holding,
  lawsHold,
  publishTo,
  repeatsIn,
  shared,
  tally,
  within
} from "./processes/Story.ts"
import { startWorker } from "./processes/WorkerProcess.ts"
import { box, Setting, workspace } from "./Setting.ts"

/** A statement then takes longer than what was loaded counts as fresh (`freshMs` in Tuning.ts). */
const SLOW_MS = 20

it.scopedLive(
  "decision §7 sends everything that was published after an idle worker was killed, on a slow line too",
  () =>
    Effect.gen(function* () {
      const url = Redacted.value(yield* TestDatabaseUrl)
      const line = yield* makeLine(new URL(url))
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoints(acme, 10, () => receiver.url("/ok"))
      const idle = yield* startWorker()
      yield* shared(25, 32)
      idle.signal("SIGKILL")
      yield* idle.ended
      yield* publishTo(acme, 10, 30)

      yield* line.slowDown(SLOW_MS)
      yield* startWorker({ DATABASE_URL: through(line, url) })
      yield* within(
        30,
        tally,
        ({ dead_lettered = 0, delivered = 0, pending = 0 }) => dead_lettered + delivered === 300 && !pending
      )

      expect(yield* tally).toEqual({ delivered: 300 })
      expect(receiver.received).toHaveLength(300)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)

/** The setting of the other tests, on a PostgreSQL of its own. */
const onOwnCluster = ({ url }: OwnCluster.OwnCluster) =>
  Layer.mergeAll(
    Layer.orDie(Database.layer({ url, applicationName: "posthorn-test", maxConnections: 4 })),
    Layer.succeed(TestDatabaseUrl, url),
    Layer.succeed(SecretBox.SecretBox, box)
  )

it.scopedLive(
  "decision §7 suspects nothing after PostgreSQL was restarted under a worker that stayed well",
  () =>
    Effect.gen(function* () {
      const cluster = yield* OwnCluster.make
      const url = Redacted.value(cluster.url)
      const line = yield* makeLine(new URL(url))
      const open: Array<() => void> = []
      const receiver = yield* makeReceiver({ behaviours: { "/held": holding(10, open) } })
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const acme = yield* workspace
        yield* endpoints(acme, 5, () => receiver.url("/held"))
        const worker = yield* startWorker({ DATABASE_URL: through(line, url) })
        yield* publishTo(acme, 5, 5)
        yield* receiver.waitFor(10)
        yield* sql`create table public.counted (take_ups integer)`
        yield* sql.unsafe(`create function note_take_up() returns trigger language plpgsql as $$
          begin insert into public.counted values (new.take_ups); return null; end $$;
          create trigger noted after update on posthorn.queue for each row when (new.take_ups > old.take_ups)
            execute function note_take_up()`)

        yield* cluster.stop
        yield* within(25, Effect.sync(worker.log), (log) => log.includes("The shards are lost for now"))
        yield* line.slowDown(SLOW_MS)
        yield* cluster.start
        yield* shared(25, 32)
        for (const answer of open.splice(0)) answer()
        yield* within(
          30,
          tally,
          ({ dead_lettered = 0, delivered = 0, pending = 0 }) => dead_lettered + delivered === 25 && !pending
        )

        expect(yield* tally).toEqual({ delivered: 25 })
        expect(repeatsIn(receiver.received)).toBe(0)
        expect(yield* sql`select * from public.counted`).toEqual([])
        yield* lawsHold
      }).pipe(Effect.provide(onOwnCluster(cluster)))
    }),
  60_000
)
