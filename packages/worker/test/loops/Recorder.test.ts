/** When the Recorder writes a group: as soon as it is full, however long it may wait for more. On a real PostgreSQL. */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { type Behaviour, make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { Tuning, tuned } from "../../src/Tuning.ts"
import { within } from "../processes/Story.ts"
import {
  attempts,
  drained,
  endpoint,
  publish,
  Setting,
  statuses,
  until,
  worker,
  workspace
} from "../Setting.ts"

const GROUP = 4

/** The database refuses the attempts of one endpoint; `inserts` counts the statements that tried. */
const refusing = (endpointId: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(`create sequence posthorn.inserts; select nextval('posthorn.inserts');
      create function posthorn.refuse() returns trigger language plpgsql as $$ begin
        if new.response_body is not null and exists (
          select from posthorn.deliveries where id = new.delivery_id and endpoint_id = '${endpointId}')
        then raise exception 'refused'; end if;
        return new;
      end $$;
      create function posthorn.count_insert() returns trigger language plpgsql as $$ begin
        perform nextval('posthorn.inserts'); return null; end $$;
      create trigger refuse before insert on posthorn.attempts for each row execute function posthorn.refuse();
      create trigger count_insert before insert on posthorn.attempts for each statement execute function posthorn.count_insert()`)
  )

layer(Setting, { excludeTestServices: true })("groups of observations", (it) => {
  it.scoped("§3.4 are recorded as soon as they are full, while other requests are in flight", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const [busy, quick] = [yield* workspace, yield* workspace]
      yield* endpoint(busy, receiver.url("/hang"))
      yield* endpoint(quick, receiver.url("/ok"))
      yield* publish(busy, 1)
      yield* Effect.provideService(worker(), Tuning, { ...tuned, batchWanted: GROUP, lingerMs: 5_000 })
      yield* publish(quick, GROUP - 1)
      yield* receiver.waitFor(GROUP)
      // biome-ignore lint/plugin: nothing is recorded for as long
      yield* Effect.sleep("300 millis")
      assert.notInclude(yield* statuses(quick), "delivered")

      yield* publish(quick, 1)

      yield* within(3, statuses(quick), (all) => all.every((status) => status === "delivered"))
    })
  )
})

layer(Setting, { excludeTestServices: true })("a group of observations", (it) => {
  it.scoped("§3.4 of which the database refuses one loses only that one's evidence, and once", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const open: Array<() => void> = []
      const hold: Behaviour = (answer) => void open.push(() => answer.reply(200, "ok"))
      const receiver = yield* makeReceiver({ behaviours: { "/held": hold } })
      const [bad, good] = [yield* workspace, yield* workspace]
      const { id } = yield* endpoint(bad, receiver.url("/held"))
      yield* endpoint(good, receiver.url("/held"))
      yield* refusing(id)
      yield* Effect.provideService(worker(), Tuning, { ...tuned, batchWanted: 3, lingerMs: 5_000 })
      const inserts = Effect.map(
        sql<{ n: number }>`select last_value::integer as n from posthorn.inserts`,
        ([row]) => row!.n
      )
      /** One refused observation beside two others in a group: the statements that this took. */
      const round = Effect.gen(function* () {
        const before = yield* inserts
        yield* publish(bad)
        yield* publish(good, 2)
        yield* until(
          Effect.sync(() => open.length),
          (waiting) => waiting === 3
        )
        for (const answer of open.splice(0)) answer()
        yield* drained(bad)
        yield* drained(good)
        return (yield* inserts) - before
      })

      // All together, one by one, and what was refused bare; from then on it is apart.
      assert.deepStrictEqual([yield* round, yield* round], [1 + 3 + 1, 1 + 1 + 1])
      for (const { response_body, url } of yield* attempts(bad))
        assert.deepStrictEqual([response_body, url], [null, receiver.url("/held")])
      assert.deepStrictEqual(
        (yield* attempts(good)).map(({ response_body }) => response_body),
        ["ok", "ok", "ok", "ok"]
      )
    })
  )
})
