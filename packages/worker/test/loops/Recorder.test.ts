/** When the Recorder writes a group: as soon as it is full, however long it may wait for more. On a real PostgreSQL. */
import { assert, layer } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { Tuning, tuned } from "../../src/Tuning.ts"
import { within } from "../processes/Story.ts"
import { endpoint, publish, Setting, statuses, worker, workspace } from "../Setting.ts"

const GROUP = 4

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
      yield* Effect.sleep("300 millis")
      assert.notInclude(yield* statuses(quick), "delivered")

      yield* publish(quick, 1)

      yield* within(3, statuses(quick), (all) => all.every((status) => status === "delivered"))
    })
  )
})
