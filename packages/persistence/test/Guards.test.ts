/**
 * The purpose of each guard of the SQL: `npm run attack -- mutate-sql` removes guards one by one and expects one of these tests to
 * fail.
 */
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { Effect, Exit, Redacted, Scope } from "effect"
import { afterAll, beforeAll, describe, it } from "vitest"
import { scenarios } from "./guards/Scenarios.ts"
import { Stage } from "./guards/Stage.ts"

const scope = Effect.runSync(Scope.make())
let stage: Stage

beforeAll(async () => {
  stage = new Stage(Redacted.value(await Effect.runPromise(Scope.extend(freshDatabase, scope))))
  await stage.client.connect()
})

afterAll(async () => {
  await stage.clear()
  await stage.client.end()
  await Effect.runPromise(Scope.close(scope, Exit.void))
})

describe("§3.4 the guards of the SQL", () => {
  it.each(scenarios.map((scenario) => [scenario.title, scenario] as const))("%s", async (_, { play }) => {
    await stage.clear()
    await play(stage)
  })
})
