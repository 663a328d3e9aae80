/** Faults inside the database, while a worker process is in full run: it stays, keeps what it saw, and goes on. */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { endpoints, idOf, lawsHold, publishTo, repeatsIn, shared, tally, timed, within } from "./processes/Story.ts"
import { startWorker } from "./processes/WorkerProcess.ts"
import { Setting, workspace } from "./Setting.ts"

const ended = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'posthorn %'`
)

it.scopedLive(
  "§5.3 goes on when all its connections are ended while requests are in flight",
  () =>
    Effect.gen(function* () {
      const open: Array<() => void> = []
      const receiver = yield* makeReceiver({
        behaviours: {
          "/held": (answer) => (answer.nth <= 40 ? void open.push(() => answer.reply(200)) : void answer.reply(200))
        }
      })
      const acme = yield* workspace
      yield* endpoints(acme, 20, () => receiver.url("/held"))
      const worker = yield* startWorker()
      yield* publishTo(acme, 20, 20)
      yield* receiver.waitFor(40)

      yield* ended
      for (const answer of open.splice(0)) answer()
      const took = yield* timed(within(30, tally, (seen) => seen["delivered"] === 400))

      expect(took).toBeLessThan(30_000)
      expect(worker.running()).toBe(true)
      // It remembers what it sent, and writes it down when it can: nothing had to be sent again.
      expect(repeatsIn(receiver.received)).toBe(0)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)

it.scopedLive(
  "§5.3 waits while the database is read-only, and goes on when it is not",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoints(acme, 20, () => receiver.url("/ok"))
      const worker = yield* startWorker()
      yield* shared(10, 32)
      const [{ name } = { name: "" }] = yield* sql<{ name: string }>`select current_database() as name`
      const readOnly = (on: boolean) =>
        Effect.zipRight(
          sql.unsafe(`alter database ${name} set default_transaction_read_only = ${on ? "on" : "off"}`),
          ended
        )
      yield* publishTo(acme, 20, 5)
      yield* readOnly(true)
      // The requests are made, and none of them can be written down.
      yield* receiver.waitFor(1)
      yield* within(10, Effect.sync(worker.log), (log) => log.includes("read-only"))
      yield* readOnly(false).pipe(Effect.provide(Setting), Effect.ignore)
      yield* sql`set default_transaction_read_only = off`.pipe(Effect.ignore)
      yield* readOnly(false)

      const took = yield* timed(within(30, tally, (seen) => seen["delivered"] === 100))
      expect(took).toBeLessThan(30_000)
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
      yield* within(10, tally, (seen) => seen["delivered"] === 199)

      // Seven times it ended without anything that could be written down.
      yield* within(30, tally, (seen) => seen["dead_lettered"] === 1)
      const repeated = receiver.received.map(idOf).filter((id) => id === poisoned)
      expect(repeated).toHaveLength(7)
      expect(receiver.received).toHaveLength(199 + 7)
      expect(worker.running()).toBe(true)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)
