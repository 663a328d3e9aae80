/**
 * A delivery that was never sent is never given up as poison, however often shards change hands and however slow the
 * connection.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { Effect, Redacted } from "effect"
import { Setting, workspace } from "../Setting.ts"
import { makeLine, through } from "./DatabaseLine.ts"
import { endpoints, goesOn, inFlight, onOwnCluster, publishTo, shared, within } from "./Story.ts"

/** A statement then takes longer than loaded rows stay fresh (`freshMs` in Tuning.ts). */
const SLOW_MS = 20

it.scopedLive(
  "§3.4 sends everything that was published after an idle worker was killed, on a slow connection too",
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
      const worker = yield* startWorker({ DATABASE_URL: through(line, url) })
      yield* goesOn({ receiver, worker }, 300)
    }).pipe(Effect.provide(Setting))
)

it.scopedLive("§3.4 holds nothing in doubt after PostgreSQL was restarted under a healthy worker", () =>
  Effect.gen(function* () {
    const cluster = yield* OwnCluster.make
    const url = Redacted.value(cluster.url)
    const line = yield* makeLine(new URL(url))
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const begun = yield* inFlight(5, 5, 10, { DATABASE_URL: through(line, url) })
      yield* sql`create table public.counted (claims integer)`
      yield* sql.unsafe(`create function public.note_claim() returns trigger language plpgsql as $$
          begin insert into public.counted values (new.claims); return null; end $$;
          create trigger noted after update on posthorn.queue for each row when (new.claims > old.claims)
            execute function public.note_claim()`)

      yield* cluster.stop
      yield* within(25, Effect.sync(begun.worker.log), (log) => log.includes("The shards are lost for now"))
      yield* line.slowDown(SLOW_MS)
      yield* cluster.start
      yield* shared(25, 32)
      yield* begun.release
      yield* goesOn(begun, 25)
      expect(yield* sql`select * from public.counted`).toEqual([])
    }).pipe(Effect.provide(onOwnCluster(cluster)))
  })
)
