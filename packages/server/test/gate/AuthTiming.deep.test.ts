/**
 * All refusals take about the same time, so that nobody can find out by a clock which tokens, sessions or workspaces exist.
 * The bound is wide because the machine is busy; capabilities/test/Identities.test.ts counts the look-ups exactly.
 */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"
import { measure } from "./Refusals.ts"

const ROUNDS = 150
const MOST = 1.5

layer(testServer(), { excludeTestServices: true })("refusals", (it) => {
  it.effect(
    "§5.1 take the same time for an existing and an unknown token, and for sessions",
    () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const took = yield* Effect.promise(() => measure({ url, operatorToken: OPERATOR_TOKEN }, ROUNDS))

        for (const what of ["token", "session"]) {
          const medians = Object.entries(took).flatMap(([kind, { median }]) =>
            kind.startsWith(what) ? [median] : []
          )
          expect(medians.length).toBeGreaterThan(2)
          expect(Math.max(...medians) / Math.min(...medians), JSON.stringify(took)).toBeLessThan(MOST)
        }
      }),
    240_000
  )
})
