/**
 * Before the first test file: one PostgreSQL for the whole run. After the last: it is gone. Test files find it through
 * `TestPg.ts`.
 */
import { Cause, Effect, Exit, Scope } from "effect"
import type { TestProject } from "vitest/node"
import * as TestCluster from "./TestCluster.ts"

declare module "vitest" {
  export interface ProvidedContext {
    readonly cluster: TestCluster.TestCluster
  }
}

export default async function setUp(project: TestProject) {
  const scope = await Effect.runPromise(Scope.make())
  const tearDown = () => Effect.runPromise(Scope.close(scope, Exit.void))
  const started = await Effect.runPromiseExit(Scope.extend(TestCluster.start, scope))
  if (Exit.isFailure(started)) {
    await tearDown()
    throw new Error(`The tests' PostgreSQL did not start: ${Cause.pretty(started.cause)}`)
  }
  project.provide("cluster", started.value)
  return tearDown
}
