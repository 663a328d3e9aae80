/** Bounds of a workspace that publishes batches without pause, to endpoints that answer at once. */
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect } from "effect"
import { call } from "./Doors.ts"
import { flood } from "./Flood.ts"
import { receiverAtOnce } from "./HostileReceivers.ts"
import { installation } from "./Installation.ts"

const EVENTS = 200
const AT_ONCE = 16
const FOR_MS = 4_000

layer(TestPg, { excludeTestServices: true })("bounds of publishing", (it) => {
  it.scoped(
    "§7.1 batches without pause cost another workspace's publishes and arrivals little",
    () =>
      Effect.gen(function* () {
        const { attacker, judge, url } = yield* installation(["EVENT_PUBLISH"])
        const receiver = yield* receiverAtOnce
        const path = "/workspaces/attacker"
        const headers = { authorization: `Bearer ${attacker.token}`, "content-type": "application/json" }
        const webhook = JSON.stringify({ url: receiver.url, eventTypes: ["batch.flood"] })
        yield* Effect.promise(() =>
          call(url, { method: "POST", path: `${path}/webhooks`, headers, body: webhook })
        )
        const event = { eventType: "batch.flood", payload: { text: "x".repeat(100) } }
        const body = JSON.stringify({ events: Array.from({ length: EVENTS }, () => event) })
        const batch = { method: "POST", path: `${path}/events/batch`, headers, body }
        const cases = [
          {
            name: "batches without pause",
            try: () => flood(url, () => batch, { atOnce: AT_ONCE, forMs: FOR_MS, most: 100_000 })
          }
        ]
        expect(yield* judge(cases)).toEqual([])
      }),
    600_000
  )
})
