/**
 * Two workspaces with the same data: whatever one asks with the other's ids is answered as if those ids were nobody's,
 * to the letter, and nothing of the other is in any answer.
 */
import { expect, layer } from "@effect/vitest"
import { type ContractEntry, entries } from "@posthorn/api-contract/Walk"
import { Effect, Option } from "effect"
import { membersOf } from "../src/Judge.ts"
import { unknown, walk } from "./Fixtures.ts"
import { makeWorld, pathOf, sampleOf, type World } from "./Samples.ts"
import { type Answer, type Entered, type Loose, TestServer, testServer } from "./TestServer.ts"

const operations = entries.filter(({ inWorkspace, rules }) => inWorkspace && rules.permission !== "operator")

const parametersOf = (entry: ContractEntry) =>
  [...entry.path.matchAll(/:(\w+)/g)].map(([, name]) => name!).filter((name) => name !== "slug")

const withoutTrace = ({ status, text }: Answer<unknown>) => ({
  status,
  text: text.replace(/"traceId":"[0-9a-f]{32}"/, '"traceId":"-"')
})

const ask = (ws: Entered, entry: ContractEntry, world: World, query?: Readonly<Record<string, string>>) =>
  Effect.flatMap(TestServer, ({ call }) => {
    const sample = sampleOf(entry, world)
    return call(entry.method, pathOf(entry, world, query ?? sample.query), {
      token: ws.token,
      ...(sample.body === undefined ? {} : { body: sample.body })
    })
  })

const prepare = Effect.gen(function* () {
  const { enter } = yield* TestServer
  const [a, b] = [yield* enter, yield* enter]
  const [worldA, worldB] = [yield* makeWorld(a), yield* makeWorld(b)]
  const secret = "payload-of-b-only"
  yield* b.call("POST", "/events", { body: { eventType: "invoice.paid", payload: { secret } } })
  const { slug, ...ids } = worldB
  return { a, b, worldA, worldB, marks: [...Object.values(ids), b.workspaceId, `"${slug}"`, secret] }
})

const expectNothingOf = (marks: ReadonlyArray<string>, answer: Answer<Loose>, sent: string) => {
  for (const mark of marks) if (!sent.includes(mark)) expect(answer.text).not.toContain(mark)
}

layer(testServer(), { excludeTestServices: true })("two tenants", (it) => {
  it.effect(
    "decision §3 an id of another workspace is answered as an unknown id, in every place of every operation",
    () =>
      Effect.gen(function* () {
        const { a, marks, worldA, worldB } = yield* prepare
        let compared = 0

        for (const entry of operations) {
          for (const parameter of parametersOf(entry)) {
            for (const [kind, foreign] of Object.entries(worldB)) {
              if (kind === "slug") continue
              const theirs = yield* ask(a, entry, { ...worldA, [parameter]: foreign })
              const nobodys = yield* ask(a, entry, { ...worldA, [parameter]: unknown(foreign.slice(0, 4)) })

              expect(withoutTrace(theirs), `${entry.name} with ${kind} of another workspace`).toEqual(
                withoutTrace(nobodys)
              )
              expect(theirs.status, entry.name).toBe(entry.name === "getTrace" ? theirs.status : 404)
              expectNothingOf(marks, theirs, foreign)
              compared++
            }
          }
        }

        expect(compared).toBeGreaterThan(50)
      }),
    60_000
  )

  it.effect("decision §3 another workspace's slug is answered as one that does not exist", () =>
    Effect.gen(function* () {
      const { a, worldA, worldB } = yield* prepare

      for (const entry of operations) {
        const theirs = yield* ask(a, entry, { ...worldB })
        const nowhere = yield* ask(a, entry, { ...worldA, slug: "no-such-workspace" })

        expect(withoutTrace(theirs), entry.name).toEqual(withoutTrace(nowhere))
        expect(theirs.body._tag).toBe("WorkspaceNotFound")
      }
    })
  )

  it.effect(
    "decision §4 a cursor or filter from another workspace shows nothing but the caller's own rows",
    () =>
      Effect.gen(function* () {
        const { a, b, marks, worldA, worldB } = yield* prepare
        const lists = operations.filter(
          ({ endpoint, method }) => method === "GET" && /^list/.test(endpoint.name)
        )

        for (const entry of lists) {
          const { nextCursor } = (yield* ask(b, entry, worldB, { limit: "1" })).body
          const path = pathOf(entry, worldA)
          const cursor = nextCursor === null ? {} : { cursor: nextCursor }
          const takes: ReadonlyArray<string> = Option.match(entry.querySchema, {
            onNone: () => [],
            onSome: membersOf
          })
          const filter = takes.includes("endpointId") ? { endpointId: worldB.endpointId! } : {}
          const page = yield* ask(a, entry, worldA, { ...cursor, ...filter })
          const { items } = yield* walk(a.call, path.slice(`/workspaces/${a.slug}`.length), 1)

          expect(page.status, entry.name).toBe(200)
          expectNothingOf(marks, page, "")
          for (const item of items) for (const mark of marks) expect(JSON.stringify(item)).not.toContain(mark)
        }

        expect(lists.length).toBeGreaterThan(5)
      })
  )
})
