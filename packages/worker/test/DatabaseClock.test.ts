/**
 * A worker whose machine's clock is wrong: it uses the database's time, and stops when receivers would refuse its
 * signatures.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import { make as makeReceiver, type Received } from "@posthorn/testkit/Receiver"
import { type Clock, Effect } from "effect"
import { preloadIn } from "./chaos/Clocks.ts"
import { scrape } from "./processes/Scrapes.ts"
import { endpoints, idOf, publishTo, repeatsIn, shared, tally, within } from "./processes/Story.ts"
import { attempts, RETRY_DELAY_MS, Setting, worker, workspace } from "./Setting.ts"

const QUARTER_MS = 15 * 60_000

/** Loaded before the program in a process, to set its clock; see chaos/Clocks.ts. */
const offBy = (milliseconds: number) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "posthorn-clock-"))),
      (folder) => Effect.sync(() => rmSync(folder, { recursive: true }))
    ),
    (folder) => ({ NODE_OPTIONS: `--require ${preloadIn(folder)}`, CLOCK_OFF_MS: String(milliseconds) })
  )

/** The clock of this process, which a test can set. */
const settable = Effect.map(Effect.clock, (real) => {
  let off = 0
  const clock: Clock.Clock = Object.assign(Object.create(real), {
    unsafeCurrentTimeMillis: () => real.unsafeCurrentTimeMillis() + off
  })
  const set = (milliseconds: number) =>
    Effect.sync(() => {
      off = milliseconds
    })
  return { clock, set }
})

const signedAt = ({ headers }: Received) =>
  Number(headers.find(([name]) => name.toLowerCase() === "webhook-timestamp")![1]) * 1_000

it.scopedLive("§3.4 signs, dates and retries by the database's clock, and stops only beyond 4 minutes", () =>
  Effect.gen(function* () {
    const receiver = yield* makeReceiver({
      behaviours: { "/once": (answer) => void answer.reply(answer.nth === 1 ? 500 : 200) }
    })
    const acme = yield* workspace
    yield* endpoints(acme, 1, () => receiver.url("/once"))
    const { clock, set } = yield* settable
    yield* set(-230_000)
    yield* Effect.withClock(worker(), clock)
    yield* shared(25, 32)

    yield* publishTo(acme, 1)
    yield* within(25, tally, ({ delivered }) => delivered === 1)
    const [first, second] = (yield* attempts(acme)).map(({ at }) => Date.parse(at))
    expect(second! - first!).toBeGreaterThanOrEqual(RETRY_DELAY_MS / 2)
    for (const [n, request] of receiver.received.entries()) {
      expect(Math.abs(signedAt(request) - request.at)).toBeLessThan(5_000)
      expect(Math.floor([first!, second!][n]! / 1_000) * 1_000).toBe(signedAt(request))
    }

    yield* set(-QUARTER_MS)
    yield* shared(25)
    yield* publishTo(acme, 1)
    yield* set(QUARTER_MS)
    expect(receiver.received).toHaveLength(2)

    yield* set(1_000)
    yield* within(25, tally, ({ delivered }) => delivered === 2)
    expect(receiver.received).toHaveLength(3)
  }).pipe(Effect.provide(Setting))
)

it.scopedLive(
  "§10 a worker whose clock is 15 minutes off says so, is not ready, and leaves everything to the others",
  () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* endpoints(acme, 4, () => receiver.url("/ok"))
      const port = yield* freePort
      const origin = `http://127.0.0.1:${port}`
      const wrong = yield* startWorker({ ...(yield* offBy(QUARTER_MS)), METRICS_PORT: String(port) })
      const health = (check: string) =>
        Effect.promise(async () => {
          const answer = await fetch(`${origin}/health/${check}`)
          return [answer.status, await answer.json()] as const
        })

      yield* publishTo(acme, 4)
      yield* within(25, health("ready"), ([status]) => status === 503)
      yield* startWorker()
      yield* shared(25, 32)
      yield* within(25, tally, ({ delivered }) => delivered === 4)

      expect(yield* health("ready")).toEqual([503, { status: "unavailable", reason: "clock" }])
      expect(yield* health("live")).toEqual([200, { status: "ok" }])
      const meters = yield* scrape(origin)
      expect(meters.sum("posthorn_clock_offset_seconds")).toBeCloseTo(QUARTER_MS / 1_000, 0)
      expect(meters.sum("posthorn_database_up")).toBe(1)
      expect(repeatsIn(receiver.received)).toBe(0)
      expect(new Set(receiver.received.map(idOf)).size).toBe(4)
      const told = wrong
        .log()
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => JSON.parse(line) as { readonly level: string; readonly message: string })
      expect(told.filter(({ level }) => level === "error")).toMatchObject([
        { message: expect.stringMatching(/clock: it is 900\.\d s ahead of the database's/) }
      ])
      expect(told.filter(({ message }) => message.includes("clock is wrong"))).toHaveLength(1)
    }).pipe(Effect.provide(Setting))
)
