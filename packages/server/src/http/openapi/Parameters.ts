/** Parameters that several operations have alike: told once, in `components`. */
import type { Json } from "./Schemas.ts"

const nameOf = (parameter: Json) =>
  String(parameter.name).replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

type Paths = Record<string, Record<string, unknown>>

const operationsOf = (paths: Paths) =>
  Object.values(paths).flatMap((methods) => Object.values(methods)) as Array<{
    parameters: ReadonlyArray<Json>
  }>

/** Gives the shared ones, and puts references to them in their place. Of those with one name the most frequent is shared. */
export const shareParameters = (paths: Paths): Record<string, Json> => {
  const all = operationsOf(paths)
  const counts = new Map<string, number>()
  for (const parameter of all.flatMap(({ parameters }) => parameters)) {
    const text = JSON.stringify(parameter)
    counts.set(text, (counts.get(text) ?? 0) + 1)
  }
  const shared: Record<string, Json> = {}
  for (const [text, count] of [...counts].sort(([, a], [, b]) => b - a)) {
    const parameter = JSON.parse(text) as Json
    if (count > 1) shared[nameOf(parameter)] ??= parameter
  }
  for (const operation of all) {
    operation.parameters = operation.parameters.map((parameter) => {
      const name = nameOf(parameter)
      return JSON.stringify(shared[name]) === JSON.stringify(parameter)
        ? { $ref: `#/components/parameters/${name}` }
        : parameter
    })
  }
  return shared
}
