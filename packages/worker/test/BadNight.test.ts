/**
 * A receiver that is down for a night and comes back, on a real PostgreSQL and real sockets: a policy with long waits loses nothing,
 * and its endpoint stays enabled. A second of the policy lasts 0.05 ms here.
 */
import { assert, layer } from "@effect/vitest"
import { type DeliveryPolicy, waitsOf } from "@posthorn/domain/DeliveryPolicy"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { rows } from "@posthorn/testkit/Sql"
import { Array as Arr, Effect, Record } from "effect"
import { idOf, lawsHold, within } from "./processes/Story.ts"
import {
  attempts,
  away,
  deliveries,
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
} from "./Setting.ts"

const SECOND_MS = 0.05
const SCALED = { secondMs: SECOND_MS, retryDelayMs: 30 * SECOND_MS }
const EVENTS = 5
/** The attempts of each delivery before the receiver is back. With `patient` the sixth is 7.6 hours after the first. */
const FAILURES = 6

/** By delivery, each in order. */
const evidenceOf = (acme: Workspace) =>
  Effect.map(
    attempts(acme),
    Arr.groupBy(({ delivery_id }) => delivery_id)
  )

/** The earliest moment at which an attempt had failed. */
const endOf = ({ at, duration_ms }: { readonly at: string; readonly duration_ms: number }) =>
  Date.parse(at) + duration_ms

const notices = ({ id }: Workspace) =>
  rows`select kind from posthorn.notifications where workspace_id = ${id}`

layer(Setting, { excludeTestServices: true })("a night without a receiver", (it) => {
  it.scoped.each<readonly [string, DeliveryPolicy]>([
    ["patient", { retries: { kind: "patient" }, disableAfter: { kind: "failing_for", seconds: 432_000 } }],
    [
      "waits of one's own",
      {
        retries: { kind: "waits", seconds: [60, 600, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400, 86_400] },
        jitter: 0.25,
        disableAfter: { kind: "never" }
      }
    ]
  ])("§3.5 loses nothing and disables nobody, with %s", ([, policy]) =>
    Effect.gen(function* () {
      const { behaviour, state } = away()
      const receiver = yield* makeReceiver({ behaviours: { "/down": behaviour } })
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/down"))
      yield* setPolicy(id, policy)
      yield* worker(SCALED)
      yield* publish(acme, EVENTS)
      yield* within(50, deliveries(acme), (all) => all.every(({ attempts }) => attempts >= FAILURES))
      const during = yield* endpointRow(id)
      state.back = true
      yield* publish(acme)
      yield* drained(acme)

      assert.isTrue(during.enabled)
      assert.isAtLeast(during.consecutive_failures, EVENTS * FAILURES)
      assert.deepStrictEqual(yield* statuses(acme), Array(EVENTS + 1).fill("delivered"))
      assert.deepInclude(yield* endpointRow(id), { enabled: true, consecutive_failures: 0 })
      assert.deepStrictEqual(yield* notices(acme), [])
      yield* lawsHold

      const waits = waitsOf(policy.retries!, SCALED)
      const told = yield* evidenceOf(acme)
      for (const those of Object.values(told)) {
        const codes = those.map(({ http_status }) => http_status)
        assert.deepStrictEqual(
          codes,
          codes.map((_, n) => (n < codes.length - 1 ? 503 : 200))
        )
        for (const [n, { at }] of those.slice(1).entries())
          assert.isAtLeast(Date.parse(at) - endOf(those[n]!), Math.floor(waits[n]!) - 2, `attempt ${n + 2}`)
      }
      // The evidence agrees with what the receiver saw.
      assert.deepStrictEqual(
        Record.map(told, (those) => those.length),
        Record.map(Arr.groupBy(receiver.received, idOf), (those) => those.length)
      )
    })
  )

  it.scoped("§3.5 disables the endpoint and loses events when no policy is set", () =>
    Effect.gen(function* () {
      const receiver = yield* makeReceiver()
      const acme = yield* workspace
      const { id } = yield* endpoint(acme, receiver.url("/status/503"))
      yield* worker(SCALED)
      yield* publish(acme, EVENTS)
      yield* until(endpointRow(id), ({ enabled }) => !enabled)

      assert.deepStrictEqual(yield* publish(acme), [])
    })
  )
})
