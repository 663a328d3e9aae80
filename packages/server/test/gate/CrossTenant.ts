/**
 * Two workspaces with the same data. Whatever a caller asks with ids of the other workspace is answered exactly as if they
 * did not exist; no answer contains anything of the other workspace; and none of its rows changes.
 *
 * This tries every operation of the contract, through every transport, with every kind of id at every position of a caller's
 * text. New operations, positions and nouns are included automatically. `npm test` tries one combination in many, `npm run
 * test:deep` all.
 */
import { expect, layer } from "@effect/vitest"
import { type ContractEntry, membersOf } from "@posthorn/api-contract/Contract"
import { prefixes } from "@posthorn/domain/Ids"
import { oneIn } from "@posthorn/testkit/Sample"
import { Effect } from "effect"
import { walk } from "../Fixtures.ts"
import { rpc } from "../McpCalls.ts"
import { pathOf } from "../Samples.ts"
import { entered, type Loose, TestServer, testServer } from "../TestServer.ts"
import { comparable, leaksIn, likeUnknown, operations } from "./LikeUnknown.ts"
import { foreignOf, furnish, idsOf, marksOf, nobodys, pictureOf } from "./Tenants.ts"
import { askedOf, transportsOf } from "./Transports.ts"

const TRANSPORTS = ["REST", "MCP", "console", "link"]
const WORD = "zebra"

const prepare = Effect.gen(function* () {
  const [a, b] = [yield* entered, yield* entered]
  const [worldA, worldB] = [yield* furnish(a, "apple"), yield* furnish(b, WORD)]
  yield* Effect.all([transportsOf(a), transportsOf(b)])
  return {
    a,
    b,
    worldA,
    worldB,
    transports: yield* transportsOf(a),
    foreign: yield* foreignOf(b, worldB, WORD),
    marks: yield* marksOf(b, WORD)
  }
})

export const crossTenant = (n: number) =>
  layer(testServer({ workspaceLimits: { endpoints: 10_000, tokens: 10_000 } }), {
    excludeTestServices: true
  })("two tenants", (it) => {
    it.effect("§5.1 the other workspace has an id of every noun, so that every kind is tried", () =>
      Effect.gen(function* () {
        const { b } = yield* prepare

        expect(Object.keys(yield* idsOf(b)).toSorted()).toEqual(Object.keys(prefixes).toSorted())
      })
    )

    for (const name of TRANSPORTS) {
      it.effect(
        `§5.1 ids of another workspace are answered like unknown ids, at every position of every operation: ${name}`,
        () =>
          Effect.gen(function* () {
            const { b, transports, foreign, marks, worldA } = yield* prepare
            const transport = transports.find((each) => each.name === name)!
            const before = yield* pictureOf(b.workspaceId)
            const { tried, wrong } = yield* likeUnknown(n, transport, worldA, foreign, marks)

            expect(wrong).toEqual([])
            expect(yield* pictureOf(b.workspaceId)).toEqual(before)
            expect(tried.length).toBeGreaterThan((operations.length * Object.keys(foreign).length) / n)
            expect(new Set(tried.map(({ kind }) => kind)).size).toBe(Object.keys(foreign).length)
          }),
        240_000
      )

      it.effect(
        `§5.1 another workspace's slug or id is answered like an unknown workspace: ${name}`,
        () =>
          Effect.gen(function* () {
            const { b, transports, marks, worldA, worldB } = yield* prepare
            const transport = transports.find((each) => each.name === name)!
            const before = yield* pictureOf(b.workspaceId)

            const slugs = [
              [b.slug, "no-such-workspace"],
              [b.workspaceId, nobodys(b.workspaceId)]
            ] as const
            const tries = operations.flatMap((entry) =>
              slugs.flatMap((pair) => [worldA, worldB].map((world) => ({ entry, pair, world })))
            )
            for (const {
              entry,
              pair: [slug, nowhere],
              world
            } of oneIn(Math.min(n, 3), tries)) {
              const asked = askedOf(entry, world)
              const theirs = yield* transport.ask(entry, { ...asked, path: { ...world, slug } })
              const nobody = yield* transport.ask(entry, { ...asked, path: { ...world, slug: nowhere } })

              expect(comparable(theirs, slug), entry.name).toEqual(comparable(nobody, nowhere))
              expect(theirs.status, entry.name).toBe(name === "console" || name === "link" ? 401 : 404)
              expect(leaksIn(theirs.text, marks, [asked, slug]), entry.name).toEqual([])
            }

            expect(yield* pictureOf(b.workspaceId)).toEqual(before)
          }),
        240_000
      )
    }

    const lists = operations.filter(({ endpoint, method }) => method === "GET" && /^list/.test(endpoint.name))
    const takes = (entry: ContractEntry): ReadonlyArray<string> => membersOf(entry.querySchema)

    it.effect("§4.3 a cursor of another workspace shows only the caller's own rows", () =>
      Effect.gen(function* () {
        const { a, b, transports, marks, worldA, worldB } = yield* prepare
        const ofB = yield* transportsOf(b)
        const limited = { limit: "1" }

        for (const entry of lists) {
          const first = yield* ofB[0]!.ask(entry, { ...askedOf(entry, worldB), query: limited })
          const { nextCursor } = JSON.parse(first.text) as Loose
          for (const transport of transports) {
            const asked = {
              ...askedOf(entry, worldA),
              query: nextCursor === null ? {} : { cursor: nextCursor }
            }
            const page = yield* transport.ask(entry, asked)
            expect([page.status, leaksIn(page.text, marks, [])], `${entry.name} ${transport.name}`).toEqual([
              200,
              []
            ])
          }
          const { items } = yield* walk(
            a.call,
            pathOf(entry, worldA).slice(`/workspaces/${a.slug}`.length),
            1
          )
          expect(leaksIn(JSON.stringify(items), marks, []), entry.name).toEqual([])
        }

        expect(lists.filter((entry) => takes(entry).includes("cursor")).length).toBeGreaterThan(5)
      })
    )

    it.effect("§4.3 prompts and resources of MCP reveal nothing of another workspace", () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const { a, foreign, marks } = yield* prepare
        const ask = (method: string, params: unknown) => rpc(url, a.token, method, params)
        interface Prompt {
          readonly name: string
          readonly arguments: ReadonlyArray<{ readonly name: string }>
        }
        const listed = (yield* ask("prompts/list", {})).body.result as unknown as {
          readonly prompts: ReadonlyArray<Prompt>
        }

        for (const value of Object.values(foreign)) {
          for (const { arguments: named, name } of listed.prompts) {
            const told = yield* ask("prompts/get", {
              name,
              arguments: Object.fromEntries(named.map((each) => [each.name, value]))
            })
            expect(leaksIn(told.text, marks, [value]), name).toEqual([])
          }
          const read = yield* ask("resources/read", { uri: `posthorn://${value}` })
          expect([read.body.error === undefined, leaksIn(read.text, marks, [value])]).toEqual([false, []])
        }

        expect(listed.prompts.length).toBeGreaterThan(0)
      })
    )

    it.effect("§11 a session of one workspace shows nothing of another to the console's page", () =>
      Effect.gen(function* () {
        const { call } = yield* TestServer
        const { a, b, marks } = yield* prepare
        const signed = yield* call("POST", "/console/session", { body: { token: a.token } })
        const cookie = signed.headers.get("set-cookie")!.split(";")[0]!
        const crossed = cookie.replace(`_${a.slug}=`, `_${b.slug}=`)

        for (const [path, status] of [
          ["/console/session", 200],
          ["/console/api/caller", 401]
        ] as const) {
          for (const header of [crossed, `${crossed}; ${crossed}`]) {
            const headers = { cookie: header, "sec-fetch-site": "same-origin", "x-console": b.slug }
            const told = yield* call("GET", path, { headers })
            expect([told.status, leaksIn(told.text, marks, [])], path).toEqual([status, []])
          }
        }
      })
    )
  })
