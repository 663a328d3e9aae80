/**
 * Faults of the database while a worker process is busy: it stays, keeps its observations, and continues. The deep tests
 * have more.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { Setting, workspace } from "../Setting.ts"
import { behindLine } from "./BehindLine.ts"
import {
  endConnections,
  endpoints,
  goesOn,
  idOf,
  inFlight,
  lawsHold,
  publishTo,
  tally,
  within
} from "./Story.ts"

it.scopedLive("§3.4 continues when all its connections are ended while requests are in flight", () =>
  Effect.gen(function* () {
    const begun = yield* inFlight(20, 20, 40)
    yield* endConnections
    yield* begun.release
    yield* goesOn(begun, 400)
  }).pipe(Effect.provide(Setting))
)

it.scopedLive("§2.3 a delivery that the database refuses to record does not affect others of its group", () =>
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
        create function public.refuse() returns trigger language plpgsql as $$
        begin
          if new.delivery_id = '${poisoned}' then raise exception 'no'; end if;
          return new;
        end $$;
        create trigger refuse before insert on posthorn.attempts for each row execute function public.refuse()`)
    worker.signal("SIGCONT")
    yield* within(25, tally, (seen) => seen.delivered === 199)

    // Seven times it ended without an observation that could be recorded.
    yield* within(30, tally, (seen) => seen.dead_lettered === 1)
    const repeated = receiver.received.map(idOf).filter((id) => id === poisoned)
    expect(repeated).toHaveLength(7)
    expect(receiver.received).toHaveLength(199 + 7)
    expect(worker.running()).toBe(true)
    yield* lawsHold
  }).pipe(Effect.provide(Setting))
)

it.scopedLive("§2.3 counts nothing twice when the answer to a COMMIT is lost", () =>
  Effect.gen(function* () {
    const { acme, line, meters, receiver, worker } = yield* behindLine
    yield* endpoints(acme, 10, () => receiver.url("/broken"))
    const lost = yield* Effect.fork(line.loseAnswerTo("posthorn.record"))
    yield* Effect.yieldNow()
    yield* publishTo(acme, 10, 3)
    yield* lost
    yield* within(25, tally, (seen) => seen.failed === 30)

    expect(receiver.received).toHaveLength(30)
    expect(worker.running()).toBe(true)
    // And omits nothing: what the lost answer reported is on record as this worker's own.
    const told = yield* within(25, meters, (now) => now.sum("posthorn_attempts_unrecorded") === 0)
    expect(told.sum("posthorn_attempts_total", { status: "failed" })).toBe(30)
    expect(told.sum("posthorn_attempt_duration_seconds_count")).toBe(30)
    yield* lawsHold
  }).pipe(Effect.provide(Setting))
)
