/** A mutant put before the scenarios that are about it, in some milliseconds each. */
import { execute } from "@posthorn/testkit/TestCluster"
import { Effect } from "effect"
import { scenariosOf } from "../guards/Scenarios.ts"
import { Stage } from "../guards/Stage.ts"
import type { Mutant } from "./Mutants.ts"

/** A scenario that a mutant makes wait for ever has noticed it. */
const DEADLINE_MS = 10_000

const passes = (played: Promise<void>): Promise<boolean> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, DEADLINE_MS, false)
  })
  const outcome = played.then(
    () => true,
    () => false
  )
  return Promise.race([outcome, late]).finally(() => clearTimeout(timer))
}

/** The title of the scenario of this function, trigger or file that fails, or null. */
export const firstFailing = async (url: string, of: string): Promise<string | null> => {
  for (const { play, title } of scenariosOf(of)) {
    const stage = new Stage(url)
    await stage.client.connect()
    const passed = await passes(stage.clear().then(() => play(stage)))
    await stage.leave()
    if (!passed) return title
  }
  return null
}

/** On one database for all: each mutant takes the place of the real thing, and gives it back. */
export const playScenes = async (
  url: string,
  { of, restore, statements }: Mutant
): Promise<string | null> => {
  await Effect.runPromise(execute(url, statements!))
  const failing = await firstFailing(url, of)
  await Effect.runPromise(execute(url, restore!))
  return failing
}
