/**
 * Starts one PostgreSQL for the whole run before the first test file, and removes it after the last. Test files find it
 * through `TestPg.ts`.
 *
 * vitest calls this once for each project that has tests to run, each time with a fresh copy of this module, so the
 * one cluster and the number of its users are kept on `globalThis`.
 */
import { Cause, Effect, Exit, Scope } from "effect"
import type { TestProject } from "vitest/node"
import * as TestCluster from "./TestCluster.ts"

declare module "vitest" {
  export interface ProvidedContext {
    readonly cluster: TestCluster.TestCluster
  }
}

interface Shared {
  readonly cluster: TestCluster.TestCluster
  readonly close: () => Promise<void>
}

const start = async (): Promise<Shared> => {
  const scope = await Effect.runPromise(Scope.make())
  const close = () => Effect.runPromise(Scope.close(scope, Exit.void))
  const started = await Effect.runPromiseExit(Scope.extend(TestCluster.start, scope))
  if (Exit.isSuccess(started)) return { cluster: started.value, close }
  await close()
  throw new Error(`The tests' PostgreSQL did not start: ${Cause.pretty(started.cause)}`)
}

const run = globalThis as { posthornTests?: { shared: Promise<Shared>; users: number } | undefined }

export default async function setUp(project: TestProject) {
  run.posthornTests ??= { shared: start(), users: 0 }
  const mine = run.posthornTests
  mine.users += 1
  const { cluster, close } = await mine.shared
  project.provide("cluster", cluster)
  return async () => {
    mine.users -= 1
    if (mine.users > 0) return
    run.posthornTests = undefined
    await close()
  }
}
