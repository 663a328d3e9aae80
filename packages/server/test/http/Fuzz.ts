/**
 * Requests for every operation and tool of the contract, made from its schemas, unchanged and with a few changes. No answer
 * is a 5xx (so none runs into the 15 s limit of a call), and none is undeclared.
 */
import { expect, layer } from "@effect/vitest"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { Effect, FastCheck as fc, Runtime } from "effect"
import { callTool } from "../McpCalls.ts"
import { makeWorld, pathOf, sampleOf, type World } from "../Samples.ts"
import { OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"
import { type Fuzzed, fuzzedOf, judgeOf } from "./Fuzzing.ts"

/** The ids of a path, each replaced if another is given. */
const withId = (world: World, id: string | undefined): World =>
  id === undefined
    ? world
    : (Object.fromEntries(
        Object.keys(world).map((name) => [name, name === "slug" ? world.slug : id])
      ) as typeof world)

const texts = (query: Fuzzed["query"]) =>
  Object.fromEntries(Object.entries(query).map(([name, value]) => [name, String(value)]))

const parametersOf = ({ path }: ContractEntry) => Array.from(path.matchAll(/:(\w+)/g), ([, name]) => name!)

/** The number of requests of each operation, REST and MCP together. */
export const fuzz = (runs: number) =>
  layer(testServer(), { excludeTestServices: true })("requests made from the schemas", (it) => {
    for (const entry of entries) {
      it.effect(
        `§7.1 ${entry.name} answers as declared, whatever is sent, over REST and as a tool`,
        () =>
          Effect.gen(function* () {
            const { call, enter, url } = yield* TestServer
            const ws = yield* enter
            const world = yield* makeWorld(ws)
            const token = entry.rules.permission === "operator" ? OPERATOR_TOKEN : ws.token
            const run = Runtime.runPromise(yield* Effect.runtime<never>())
            const judge = judgeOf(entry)

            const overRest = async ({ body, id, query }: Fuzzed) => {
              const path = pathOf(entry, withId(world, id), texts(query))
              const answer = await run(
                call(entry.method, path, { token, ...(body === undefined ? {} : { body }) })
              )
              return judge.answer(answer.status, answer.body)
            }
            const asTool = async ({ body, id, query }: Fuzzed) => {
              const ids = withId(world, id)
              const result = await run(
                callTool(url, token, entry.rules.tool, {
                  ...Object.fromEntries(parametersOf(entry).map((name) => [name, ids[name]])),
                  ...query,
                  ...(body as object | undefined)
                })
              )
              if (result.isError !== true) return judge.success(result.structuredContent)
              const problem = JSON.parse(result.content[0]!.text)
              return judge.answer(problem.status, problem)
            }

            yield* Effect.promise(() =>
              fc.assert(
                fc.asyncProperty(
                  fuzzedOf(entry, sampleOf(entry, world)),
                  fc.constantFrom(overRest, overRest, asTool),
                  async (fuzzed, send) => {
                    expect(
                      await send(fuzzed),
                      `${send.name} ${entry.name} ${JSON.stringify(fuzzed)}`
                    ).toBeUndefined()
                  }
                ),
                { numRuns: runs, endOnFailure: true }
              )
            )
          }),
        60_000 + runs * 300
      )
    }
  })
