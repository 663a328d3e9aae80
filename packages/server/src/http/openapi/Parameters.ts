/**
 * Shares parameters that several operations have in common. The library always writes parameters inline. An identifier would
 * not help: it would make the schema a component, and a `$defs` in every tool. So equal parameters are found and shared here.
 */
import { type Json, nameOfRef, tidy } from "./Schemas.ts"

/** Moves the schema's description to the parameter: the reference page shows it only there. */
export const parameterOf = (generated: unknown, components: Json): Json => {
  const { schema, ...rest } = tidy(generated, false) as Json & { readonly schema: Json }
  const { description, examples, ...bare } = schema
  const component = components[nameOfRef(schema) ?? ""] as Json | undefined
  return {
    ...rest,
    description: description ?? component?.description,
    ...(examples === undefined ? {} : { example: (examples as ReadonlyArray<unknown>)[0] }),
    schema: bare
  }
}

const nameOf = (parameter: Json) =>
  String(parameter.name).replace(/(?:^|-)(\w)/g, (_, letter: string) => letter.toUpperCase())

/** Returns the parameters that occur more than once, and replaces them by references. */
export const shareParameters = (operations: ReadonlyArray<{ parameters: ReadonlyArray<Json> }>) => {
  const told = new Set<string>()
  const shared: Record<string, Json> = {}
  const isShared = (parameter: Json) =>
    JSON.stringify(shared[nameOf(parameter)]) === JSON.stringify(parameter)
  for (const parameter of operations.flatMap(({ parameters }) => parameters)) {
    const text = JSON.stringify(parameter)
    if (told.has(text)) shared[nameOf(parameter)] ??= parameter
    told.add(text)
  }
  for (const operation of operations) {
    operation.parameters = operation.parameters.map((parameter) =>
      isShared(parameter) ? { $ref: `#/components/parameters/${nameOf(parameter)}` } : parameter
    )
  }
  return shared
}
