/** Every scenario, and those that are about a function or trigger. */
import { burials } from "./DeadLetters.ts"
import { engine } from "./Engine.ts"
import { publishing } from "./Publish.ts"
import { recordings } from "./Record.ts"
import { retention } from "./Retention.ts"
import type { Scenario } from "./Stage.ts"
import { tables } from "./Tables.ts"

export const scenarios: ReadonlyArray<Scenario> = [
  ...tables,
  ...publishing,
  ...recordings,
  ...burials,
  ...engine,
  ...retention
]

export const scenariosOf = (name: string): ReadonlyArray<Scenario> =>
  scenarios.filter(({ of }) => of.includes(name))
