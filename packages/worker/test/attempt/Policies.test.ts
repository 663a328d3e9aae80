import { assert, layer } from "@effect/vitest"
import type { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { type Behaviour, make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import {
  attempts,
  drained,
  endpoint,
  endpointRow,
  publish,
  Setting,
  setPolicy,
  statuses,
  until,
  type Workspace,
  worker,
  workspace
} from "../Setting.ts"

/** An endpoint with a policy, and a number of events published to it. */
const sent = (acme: Workspace, url: string, policy: DeliveryPolicy, count = 1) =>
  Effect.gen(function* () {
    const { id } = yield* endpoint(acme, url)
    yield* setPolicy(id, policy)
    yield* publish(acme, count)
    return id
  })

layer(Setting, { excludeTestServices: true })("a delivery policy", (it) => {
  it.scoped("§3.5 repeats an attempt once for each of its waits, also by the workspace's policy", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      yield* setPolicy(acme.id, { retries: { kind: "none" } }, "workspaces")
      yield* endpoint(acme, receiver.url("/status/503"))
      yield* sent(acme, receiver.url("/status/500"), {
        retries: { kind: "waits", seconds: [1] }
      })
      yield* worker({ retryDelayMs: 600_000 })
      yield* until(statuses(acme), (all) => all.every((status) => status === "dead_lettered"))

      assert.lengthOf(receiver.receivedAt("/status/503"), 1)
      const [first, second, ...more] = receiver.receivedAt("/status/500")
      assert.isAtLeast(second!.at - first!.at, 999)
      assert.lengthOf(more, 0)
    })
  )

  it.scoped("§3.5 waits for Retry-After where it is honored, and ignores it elsewhere", () =>
    Effect.gen(function* () {
      const busy: Behaviour = (answer) => {
        answer.reply(429, "", { "Retry-After": "2" })
      }
      const receiver = yield* makeReceiver({ behaviours: { "/honored": busy, "/ignored": busy } })
      const acme = yield* workspace
      const none = { kind: "waits", seconds: [1] } as const
      yield* sent(acme, receiver.url("/ignored"), { retries: none })
      const honoring = yield* workspace
      yield* sent(honoring, receiver.url("/honored"), { retries: none, honorRetryAfter: true })
      yield* worker()
      yield* Effect.all([drained(acme), drained(honoring)])

      const gap = (path: string) => {
        const [first, second] = receiver.receivedAt(path)
        return second!.at - first!.at
      }
      assert.isAtLeast(gap("/honored"), 1_999)
      assert.isBelow(gap("/ignored"), 1_999)
    })
  )

  it.scoped("§3.5 disables an endpoint that answers 410 at once, and no other", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const other = yield* endpoint(acme, receiver.url("/status/410"))
      const gone = yield* sent(acme, receiver.url("/status/410"), { onGone: "disable" })
      yield* worker()
      yield* until(endpointRow(gone), ({ enabled }) => !enabled)
      yield* until(statuses(acme), (all) => all.every((status) => status === "failed_permanent"))

      assert.isTrue((yield* endpointRow(other.id)).enabled)
    })
  )

  it.scoped("§3.5 that is changed during an attempt applies to that attempt, too", () =>
    Effect.gen(function* () {
      let answer = () => {}
      const slow: Behaviour = (response) => {
        answer = () => void response.reply(500)
      }
      const receiver = yield* makeReceiver({ behaviours: { "/slow": slow } })
      const acme = yield* workspace
      const id = yield* sent(acme, receiver.url("/slow"), { retries: { kind: "patient" } })
      yield* worker()
      yield* receiver.waitFor(1)
      yield* setPolicy(id, { retries: { kind: "none" } })
      answer()

      yield* until(statuses(acme), ([status]) => status === "dead_lettered")
      assert.lengthOf(yield* attempts(acme), 1)
    })
  )

  it.scoped("§3.5 says how long a receiver has to answer", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver({ behaviours: { "/hang": () => undefined } })
      const acme = yield* workspace
      yield* sent(acme, receiver.url("/hang"), { timeoutSeconds: 1, retries: { kind: "none" } })
      yield* worker({ requestTimeoutMs: 60_000 })
      yield* until(statuses(acme), ([status]) => status === "dead_lettered")

      const [attempt] = yield* attempts(acme)
      const { duration_ms, failure_reason } = attempt!
      assert.strictEqual(failure_reason, "request_timeout")
      assert.isTrue(duration_ms >= 990 && duration_ms < 10_000)
    })
  )
})
