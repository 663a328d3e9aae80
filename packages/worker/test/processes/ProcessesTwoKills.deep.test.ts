/** Two crashes within seconds leave many healthy deliveries that were claimed twice: they are not sent one after another. */
import { expect, it } from "@effect/vitest"
import { startWorker } from "@posthorn/testkit/Command"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Clock, Effect } from "effect"
import { Setting, workspace } from "../Setting.ts"
import { endpoints, lawsHold, publishTo, repeatsIn, tally, within } from "./Story.ts"

const ENDPOINTS = 50
const ALL = 2_000
const APART = 300
const IN_FLIGHT = 100
const MOST_MS = 15_000

it.scopedLive("§3.4 delivers everything held by two workers that were killed one after the other", () =>
  Effect.gen(function* () {
    const receiver = yield* makeReceiver({
      // biome-ignore lint/plugin: a slow receiver
      behaviours: { "/slow": (answer) => void setTimeout(() => void answer.reply(200), 250) }
    })
    const acme = yield* workspace
    yield* endpoints(acme, ENDPOINTS, () => receiver.url("/slow"))
    yield* publishTo(acme, ENDPOINTS, ALL / ENDPOINTS)
    for (const killed of [1, 2]) {
      const worker = yield* startWorker()
      yield* receiver.waitFor(killed * APART)
      worker.signal("SIGKILL")
    }
    yield* startWorker()
    const began = yield* Clock.currentTimeMillis
    yield* within(60, tally, ({ delivered }) => delivered === ALL)
    const took = (yield* Clock.currentTimeMillis) - began
    expect(took).toBeLessThan(MOST_MS)
    // What had arrived and was not recorded: in flight, or answered a moment before, at each kill.
    expect(repeatsIn(receiver.received)).toBeLessThanOrEqual(2 * 2 * IN_FLIGHT)
    yield* lawsHold
  }).pipe(Effect.provide(Setting))
)
