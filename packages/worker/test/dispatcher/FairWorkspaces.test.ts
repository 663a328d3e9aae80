/**
 * Hanging receivers of one workspace never delay another workspace, neither in memory nor in the slots. On a real
 * PostgreSQL.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, layer } from "@effect/vitest"
import { newId } from "@posthorn/domain/Ids"
import { generateSecret } from "@posthorn/signature"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Clock, Effect, Redacted } from "effect"
import { within } from "../processes/Story.ts"
import { box, endpoint, publish, Setting, statuses, type Workspace, worker, workspace } from "../Setting.ts"

/** A workspace that must wait for another's requests to end waits longer than `PROMPT_MS`, even on a busy machine. */
const REQUEST_TIMEOUT_MS = 10_000
const PROMPT_MS = 4_000
const ROUNDS = 60
const EACH_ROUND = 5

/** Many endpoints of one workspace that subscribe to the same event. */
const endpointsOf = ({ id: workspaceId }: Workspace, count: number, url: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const ids = Array.from({ length: count }, () => newId("endpoint"))
    const sealed = ids.map((endpointId) =>
      box.seal({ workspaceId, endpointId }, Redacted.make(generateSecret())).toString("hex")
    )
    yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
      select ${workspaceId}, e.id, ${url}, array['busy.all'], true, decode(e.secret, 'hex')
      from unnest(${ids}::text[], ${sealed}::text[]) as e(id, secret)`
  })

layer(Setting, { excludeTestServices: true })("a workspace beside one whose receivers hang", (it) => {
  it.scoped(
    "§3.1 gets its deliveries through while 6,000 endpoints of the other have ten each waiting",
    () =>
      Effect.gen(function* () {
        const receiver = yield* makeReceiver()
        const [busy, quiet] = [yield* workspace, yield* workspace]
        yield* endpointsOf(busy, 6_000, receiver.url("/hang"))
        yield* endpoint(quiet, receiver.url("/ok"))
        yield* publish(busy, 10, "busy.all")
        yield* worker({ requestTimeoutMs: REQUEST_TIMEOUT_MS })

        // Long enough that the other workspace's rows would have filled the memory.
        for (let n = 1; n <= ROUNDS; n++) {
          yield* publish(quiet, EACH_ROUND)
          yield* within(20, statuses(quiet), (all) => all.every((status) => status === "delivered"))
        }
      }),
    240_000
  )

  it.scoped.each([
    [1, 300, 75],
    [6, 50, 90]
  ] as const)(
    "§3.1 waits no longer for a slot because the receivers of %i others hang, %i endpoints each",
    ([workspaces, each, taken]) =>
      Effect.gen(function* () {
        const receiver = yield* makeReceiver()
        const quiet = yield* workspace
        yield* endpoint(quiet, receiver.url("/ok"))
        yield* worker({ requestTimeoutMs: REQUEST_TIMEOUT_MS })
        for (let n = 0; n < workspaces; n++) {
          const busy = yield* workspace
          yield* endpointsOf(busy, each, receiver.url("/hang"))
          yield* publish(busy, 4, "busy.all")
        }
        yield* receiver.waitFor(taken, "/hang")

        const latencies: Array<number> = []
        for (let n = 1; n <= 20; n++) {
          const began = yield* Clock.currentTimeMillis
          yield* publish(quiet)
          const requests = yield* receiver.waitFor(n, "/ok")
          latencies.push(requests.at(-1)!.at - began)
        }

        // All but two: a stalling machine may delay one or two.
        const slowest = latencies.toSorted((a, b) => b - a)[2]!
        assert.isBelow(slowest, PROMPT_MS, `latencies of ${latencies} ms`)
      }),
    240_000
  )
})
