/** The time that a trial takes at most, whatever is published and asked. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { entered, testServer } from "../TestServer.ts"

/** A trial ends 5 s after it began, and one portion: of 1 MiB, 0.6 s. The deadline of an answer is 15 s. */
const MOST_MS = 10_000

const zeros = (count: number) => `[${"0,".repeat(count)}0]`
const payloads = {
  "of 64 KiB": `{"a":${zeros(32_000)}}`,
  "of 1 MiB": `{"a":${zeros(520_000)}}`,
  "of 1 MiB, deep": `${'{"a":'.repeat(90)}${zeros(500_000)}${"}".repeat(90)}`
}

const numbers = (from: number) => Array.from({ length: 100 }, (_, n) => n + from)
const filters = [
  { a: 1 },
  { a: { $in: numbers(1) } },
  { $and: Array.from({ length: 12 }, (_, n) => ({ a: { $nin: numbers(n + 1) } })) },
  { $or: Array.from({ length: 18 }, (_, n) => ({ a: { $gt: n + 1 } })) }
]

layer(testServer(), { excludeTestServices: true })("tryFilter", (it) => {
  for (const [what, payload] of Object.entries(payloads))
    it.effect(`§8 ends in time with 200 events ${what}`, () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const sql = yield* SqlClient
        yield* sql`insert into posthorn.events
            (workspace_id, id, event_type, payload, trace_id, deliveries, missed, actor, created_at)
          select ${ws.workspaceId}, posthorn.new_id('evt_'), 'invoice.paid', ${payload}, 't', 0, 0, 'system sql x', now()
          from generate_series(1, 200)`
        for (const filter of filters) {
          const began = performance.now()
          const { body, status } = yield* ws.call("POST", "/webhooks/try-filter", { body: { filter } })
          expect([status, performance.now() - began < MOST_MS]).toEqual([200, true])
          expect(body.examined).toBeGreaterThan(0)
        }
      }).pipe(Effect.orDie)
    )
})
