/** Operations that are called often send named statements only. Source: docs/adr/0014-cost-of-a-delivery.md. */
import { expect, layer } from "@effect/vitest"
import { entries } from "@posthorn/api-contract/Contract"
import { Effect } from "effect"
import pg from "pg"
import { vi } from "vitest"
import { makeWorld, pathOf, sampleOf } from "../Samples.ts"
import { TestServer, testServer } from "../TestServer.ts"

/** Reads, and publishing. */
const often = entries.filter(
  ({ method, name, rules }) =>
    rules.permission !== "operator" && (method === "GET" || name.startsWith("publishEvent"))
)

/** Beyond the calls after which a statement has its name and its connection has parsed it. */
const FIRST_CALLS = 12

layer(testServer())("operations that are called often", (it) => {
  for (const entry of often)
    it.effect(`§8 ${entry.name} has nothing parsed`, () =>
      Effect.gen(function* () {
        const { call, enter } = yield* TestServer
        const ws = yield* enter
        const world = yield* makeWorld(ws)
        const { body, query } = sampleOf(entry, world)
        const ask = call(entry.method, pathOf(entry, world, query), { body, token: ws.token })
        const answer = yield* ask
        yield* Effect.replicateEffect(ask, FIRST_CALLS)
        const parse = vi.spyOn(pg.Connection.prototype, "parse")
        yield* Effect.replicateEffect(ask, 5)
        const parsed = parse.mock.calls.map(([{ text }]) => text)
        parse.mockRestore()

        expect(answer.status).toBe(entry.successStatus)
        expect(parsed).toEqual([])
      })
    )
})
