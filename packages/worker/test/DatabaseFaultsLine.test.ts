/** Faults between a worker process and its database: the line is black, dead, or cut between statement and answer. */
import { expect, it } from "@effect/vitest"
import { freePort } from "@posthorn/testkit/FreePort"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { TestDatabaseUrl } from "@posthorn/testkit/TestPg"
import { Effect, Redacted } from "effect"
import { makeLine, through } from "./processes/DatabaseLine.ts"
import { scrape } from "./processes/Meters.ts"
import { endpoints, lawsHold, publishTo, repeatsIn, shared, tally, timed, within } from "./processes/Story.ts"
import { startWorker } from "./processes/WorkerProcess.ts"
import { Setting, workspace } from "./Setting.ts"

const GO_ON_MS = 30_000

/** A worker behind a line, busy with 20 endpoints. */
const busyWorker = Effect.gen(function* () {
  const url = Redacted.value(yield* TestDatabaseUrl)
  const line = yield* makeLine(new URL(url))
  const receiver = yield* makeReceiver({ behaviours: { "/broken": (answer) => answer.reply(503) } })
  const acme = yield* workspace
  const port = yield* freePort
  const worker = yield* startWorker({ DATABASE_URL: through(line, url), METRICS_PORT: String(port) })
  yield* shared(25, 32)
  return { acme, line, receiver, worker, meters: scrape(`http://127.0.0.1:${port}`) }
})

it.scopedLive(
  "decision §7 sits out a line that is black for some seconds",
  () =>
    Effect.gen(function* () {
      const { acme, line, receiver, worker } = yield* busyWorker
      yield* endpoints(acme, 20, () => receiver.url("/ok"))
      yield* publishTo(acme, 20, 20)
      yield* receiver.waitFor(100)

      yield* line.goBlack
      // Longer than the database waits for a sign of life: it has given its shards away.
      yield* shared(25)
      yield* line.lightUp
      const took = yield* timed(within(30, tally, (seen) => seen.delivered === 400))

      expect(took).toBeLessThan(GO_ON_MS)
      expect(repeatsIn(receiver.received)).toBeLessThanOrEqual(100)
      expect(worker.running()).toBe(true)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)

it.scopedLive(
  "decision §7 finds out by itself that its connections are dead, and opens others",
  () =>
    Effect.gen(function* () {
      const { acme, line, receiver, worker } = yield* busyWorker
      yield* endpoints(acme, 20, () => receiver.url("/ok"))
      yield* publishTo(acme, 20, 20)
      yield* receiver.waitFor(100)

      yield* line.forget
      const took = yield* timed(within(40, tally, (seen) => seen.delivered === 400))

      expect(took).toBeLessThan(GO_ON_MS)
      expect(worker.running()).toBe(true)
      yield* lawsHold
      // And it hears again, at the latest when two pulses of the listener (10 s each) went unanswered.
      yield* publishTo(acme, 20, 1)
      yield* within(22, tally, (seen) => seen.delivered === 420)
    }).pipe(Effect.provide(Setting)),
  90_000
)

it.scopedLive(
  "§2.3 counts nothing twice when the answer to a COMMIT is lost",
  () =>
    Effect.gen(function* () {
      const { acme, line, meters, receiver, worker } = yield* busyWorker
      const [broken] = yield* endpoints(acme, 10, () => receiver.url("/broken"))
      const lost = yield* Effect.fork(line.loseAnswerTo("posthorn.record"))
      yield* Effect.yieldNow()
      yield* publishTo(acme, 10, 3)
      yield* lost
      yield* within(25, tally, (seen) => seen.failed === 30)

      expect(broken).toBeDefined()
      expect(receiver.received).toHaveLength(30)
      expect(worker.running()).toBe(true)
      // And leaves nothing out: what the lost answer told is on record as this worker's own.
      const told = yield* within(25, meters, (now) => now.sum("posthorn_attempts_unrecorded") === 0)
      expect(told.sum("posthorn_attempts_total", { status: "failed" })).toBe(30)
      expect(told.sum("posthorn_attempt_duration_seconds_count")).toBe(30)
      yield* lawsHold
    }).pipe(Effect.provide(Setting)),
  60_000
)
