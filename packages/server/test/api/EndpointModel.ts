/**
 * Random programs over the endpoints of a workspace, compared with a model: create, change, disable, enable, delete, read,
 * list, rotate, publish and test-send. fast-check shrinks a failing program until each of its calls is needed.
 */
import { expect, layer } from "@effect/vitest"
import { Effect, FastCheck as fc, Runtime } from "effect"
import { walk } from "../Fixtures.ts"
import { TestServer, testServer } from "../TestServer.ts"
import { list, MOST_CALLS, type Model, programs, type Real } from "./EndpointPrograms.ts"

export const endpointModel = (runs: number) =>
  layer(testServer(), { excludeTestServices: true })("endpoints compared with a model", (it) => {
    it.effect(
      `§4 ${runs} random programs of up to ${MOST_CALLS} calls are answered as the model says`,
      () =>
        Effect.gen(function* () {
          const { enter } = yield* TestServer
          const run = Runtime.runPromise(yield* Effect.runtime<never>())
          let calls = 0
          const setup = async () => {
            const { call } = await run(enter)
            const counted: Real["call"] = (...given) => {
              calls++
              return run(call(...given))
            }
            return {
              model: { endpoints: [] } as Model,
              real: {
                call: counted,
                list: (limit: number) => run(walk(call, "/webhooks", limit)).then(({ items }) => items)
              }
            }
          }

          yield* Effect.promise(() =>
            fc.assert(
              fc.asyncProperty(programs, async (program) => {
                const { model, real } = await setup()
                await fc.asyncModelRun(() => ({ model, real }), program)
                await list(2).run(model, real)
              }),
              { numRuns: runs }
            )
          )

          expect(calls).toBeGreaterThan(runs * 2)
        }),
      60_000 + runs * 500
    )
  })
