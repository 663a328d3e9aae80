/** Faults inside the database, while a worker process is in full run: it stays, keeps what it saw, and goes on. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { execute, withDatabase } from "@posthorn/testkit/TestCluster"
import { TestDatabaseUrl } from "@posthorn/testkit/TestPg"
import { Effect, Redacted } from "effect"
import {
  endpoints,
  holding,
  idOf,
  lawsHold,
  publishTo,
  repeatsIn,
  tally,
  timed,
  within
} from "./processes/Story.ts"
import { startWorker } from "./processes/WorkerProcess.ts"
import { Setting, workspace } from "./Setting.ts"

const ended = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'posthorn %'`
)

it.scopedLive(
  "decision §7 goes on when all its connections are ended while requests are in flight",
  () =>
    Effect.gen(function* () {
      const open: Array<() => void> = []
      const receiver = yield* makeReceiver({ behaviours: { "/held": holding(40, open) } })
      const acme = yield* workspace
      yield* endpoints(acme, 20, () => receiver.url("/held"))
      const worker = yield* startWorker()
      yield* publishTo(acme, 20, 20)
      yield* receiver.waitFor(40)

      yield* ended
      for (const answer of open.splice(0)) answer()
      const took = yield* timed(within(30, tally, (seen) => seen.delivered === 400))

      expect(took).toBeLessThan(30_000)
      expect(worker.running()).toBe(true)
      // It remembers what it sent, and writes it down when it can: nothing had to be sent again.
      expect(repeatsIn(receiver.received)).toBe(0)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)

it.scopedLive(
  "decision §7 waits while the database is read-only, and goes on when it is not",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const url = Redacted.value(yield* TestDatabaseUrl)
      const open: Array<() => void> = []
      const receiver = yield* makeReceiver({ behaviours: { "/held": holding(40, open) } })
      const acme = yield* workspace
      yield* endpoints(acme, 20, () => receiver.url("/held"))
      const worker = yield* startWorker()
      yield* publishTo(acme, 20, 20)
      yield* receiver.waitFor(40)
      // From the server's own database: this one would refuse to be made writable again.
      const readOnly = (state: "on" | "off") =>
        Effect.zipRight(
          execute(
            withDatabase(url, "postgres"),
            `alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = ${state}`
          ),
          ended
        )
      const refusals = Effect.map(
        sql<{
          n: number
        }>`select xact_rollback as n from pg_stat_database where datname = current_database()`,
        ([row]) => row!.n
      )

      yield* readOnly("on")
      const before = yield* refusals
      for (const answer of open.splice(0)) answer()
      yield* within(25, refusals, (n) => n >= before + 3)
      expect(yield* tally).toEqual({ pending: 400 })
      yield* readOnly("off")
      const took = yield* timed(within(30, tally, (seen) => seen.delivered === 400))

      expect(took).toBeLessThan(30_000)
      expect(repeatsIn(receiver.received)).toBe(0)
      expect(worker.running()).toBe(true)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)

it.scopedLive(
  "§2.3 a delivery that the database refuses to record does not sink the others recorded with it",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoints(acme, 20, () => receiver.url("/ok"))
      const worker = yield* startWorker()
      worker.signal("SIGSTOP")
      const ids = yield* publishTo(acme, 20, 10)
      const poisoned = ids[57]!
      yield* sql.unsafe(`
        create function refuse() returns trigger language plpgsql as $$
        begin
          if new.delivery_id = '${poisoned}' then raise exception 'no'; end if;
          return new;
        end $$;
        create trigger refuse before insert on posthorn.attempts for each row execute function refuse()`)
      worker.signal("SIGCONT")
      yield* within(25, tally, (seen) => seen.delivered === 199)

      // Seven times it ended without anything that could be written down.
      yield* within(30, tally, (seen) => seen.dead_lettered === 1)
      const repeated = receiver.received.map(idOf).filter((id) => id === poisoned)
      expect(repeated).toHaveLength(7)
      expect(receiver.received).toHaveLength(199 + 7)
      expect(worker.running()).toBe(true)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)
