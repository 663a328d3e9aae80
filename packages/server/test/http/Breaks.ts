/**
 * Finds API changes that break callers, by comparing two OpenAPI documents: everything that docs/compatibility.md promises
 * must stay.
 *
 * Each break is a sentence. Breaks are: a removed operation, status, parameter or member; another type, or null with another
 * meaning; a new required member of a request, or a value that is refused now; another tool or permission. Additions that
 * are allowed at any time are none. Texts for people are ignored.
 */
type Json = Readonly<Record<string, unknown>>

interface Document {
  readonly paths: Readonly<Record<string, Json>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** The direction: requests may only become wider, answers only narrower. */
type Way = "answer" | "request"

const METHODS = ["get", "post", "put", "patch", "delete"]
/** A request within the old bound must be within the new one. */
const UPPER = ["maxLength", "maxItems", "maximum"]
const LOWER = ["minLength", "minItems", "minimum"]
/** Members that may get more values, by docs/compatibility.md, and texts for people. */
const OPEN = new Set([
  "failureReason",
  "failureDetail",
  "lastFailureReason",
  "action",
  "kind",
  "via",
  "code",
  "permission",
  "permissions",
  "title",
  "detail",
  "scopes"
])

const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const listOf = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

/** The target of a `$ref`. */
const resolved = (document: Document, value: unknown): Json => {
  const one = isObject(value) ? value : {}
  if (typeof one.$ref !== "string") return one
  const found = one.$ref
    .slice(2)
    .split("/")
    .reduce<unknown>((at, name) => (isObject(at) ? at[name] : undefined), document)
  return resolved(document, found)
}

/** The shapes that a schema allows, without choices within them. */
const variantsOf = (document: Document, schema: unknown): ReadonlyArray<Json> => {
  const one = resolved(document, schema)
  const choices = [...listOf(one.anyOf), ...listOf(one.oneOf)]
  if (choices.length > 0) return choices.flatMap((each) => variantsOf(document, each))
  return Array.isArray(one.type) ? one.type.map((type) => ({ ...one, type })) : [one]
}

const kindOf = (variant: Json): string =>
  typeof variant.type === "string"
    ? variant.type
    : variant.enum !== undefined
      ? typeof listOf(variant.enum)[0]
      : "any"

const bounds = (old: Json, now: Json, where: string): ReadonlyArray<string> =>
  [
    ...UPPER.filter((name) => now[name] !== undefined && !(Number(old[name]) <= Number(now[name]))),
    ...LOWER.filter((name) => now[name] !== undefined && Number(now[name]) > Number(old[name] ?? 0))
  ].map((name) => `${where}: ${name} is ${now[name]}, and was ${old[name] ?? "none"}`)

export const breaksBetween = (old: Document, now: Document): ReadonlyArray<string> => {
  const valuesOf = (variants: ReadonlyArray<Json>) =>
    variants.some(({ enum: values }) => values === undefined)
      ? undefined
      : variants.flatMap((each) => listOf(each.enum))

  const values = (before: ReadonlyArray<Json>, after: ReadonlyArray<Json>, where: string, way: Way) => {
    const [was, is] = [valuesOf(before), valuesOf(after)]
    const isOpen = OPEN.has(where.split(".").at(-1)!.replace("[]", ""))
    const [fewer, more] = way === "request" ? [was, is] : [is, was]
    if (way === "answer" && isOpen) return []
    if (more === undefined) return []
    if (fewer === undefined)
      return [`${where}: only some values are ${way === "request" ? "taken" : "named"} now`]
    return fewer
      .filter((value) => !more.includes(value))
      .map(
        (value) => `${where}: ${JSON.stringify(value)} is ${way === "request" ? "refused" : "a new value"}`
      )
  }

  const objects = (before: Json, after: Json, where: string, way: Way): ReadonlyArray<string> => {
    const [was, is] = [before.properties, after.properties].map((each) => (isObject(each) ? each : {})) as [
      Json,
      Json
    ]
    const [needed, needs] = [listOf(before.required), listOf(after.required)]
    const gone = Object.keys(was).filter((name) => is[name] === undefined)
    const changed = Object.keys(was).filter((name) => is[name] !== undefined)
    return [
      ...gone.map((name) => `${where}.${name}: is gone`),
      ...(way === "request"
        ? needs.filter((name) => !needed.includes(name)).map((name) => `${where}.${name}: is required`)
        : needed
            .filter((name) => !needs.includes(name) && is[String(name)] !== undefined)
            .map((name) => `${where}.${name}: may be missing`)),
      ...changed.flatMap((name) => schemas(was[name], is[name], `${where}.${name}`, way))
    ]
  }

  const schemas = (was: unknown, is: unknown, where: string, way: Way): ReadonlyArray<string> => {
    const [before, after] = [variantsOf(old, was), variantsOf(now, is)]
    const [fewer, more] = way === "request" ? [before, after] : [after, before]
    const kinds = new Set(more.map(kindOf))
    const strange = [...new Set(fewer.map(kindOf))].filter((kind) => !kinds.has(kind) && !kinds.has("any"))
    const said = way === "request" ? "is refused" : "is a new type"
    return [
      ...strange.map((kind) => `${where}: ${kind} ${said}`),
      ...["string", "number", "integer", "boolean"].flatMap((kind) => {
        const [a, b] = [before, after].map((each) => each.filter((one) => kindOf(one) === kind)) as [
          Json[],
          Json[]
        ]
        if (a.length === 0 || b.length === 0) return []
        return [
          ...values(a, b, where, way),
          ...(way === "request" && a.length === 1 && b.length === 1 ? bounds(a[0]!, b[0]!, where) : [])
        ]
      }),
      ...["object", "array"].flatMap((kind) => {
        const [a, b] = [before, after].map((each) => each.filter((one) => kindOf(one) === kind)) as [
          Json[],
          Json[]
        ]
        // Of several objects each old one must still exist: it is compared with the most similar new one.
        return a.flatMap((one) => {
          const tries = b.map((other) =>
            kind === "object"
              ? objects(one, other, where, way)
              : [
                  ...schemas(one.items, other.items, `${where}[]`, way),
                  ...(way === "request" ? bounds(one, other, where) : [])
                ]
          )
          return tries.toSorted((x, y) => x.length - y.length)[0] ?? []
        })
      })
    ]
  }

  const parametersOf = (document: Document, operation: Json) =>
    new Map(
      listOf(operation.parameters)
        .map((each) => resolved(document, each))
        .map((each) => [`${each.in} ${each.name}`, each] as const)
    )

  const parameters = (before: Json, after: Json, where: string): ReadonlyArray<string> => {
    const [was, is] = [parametersOf(old, before), parametersOf(now, after)]
    return [
      ...[...was].flatMap(([name, one]) => {
        const other = is.get(name)
        return other === undefined
          ? [`${where}: ${name} is gone`]
          : schemas(one.schema, other.schema, `${where}: ${name}`, "request")
      }),
      ...[...is]
        .filter(([name, { required }]) => required === true && was.get(name)?.required !== true)
        .map(([name]) => `${where}: ${name} is required`)
    ]
  }

  const contentOf = (document: Document, part: unknown) => {
    const content = resolved(document, part).content
    const media = isObject(content) ? Object.values(content)[0] : undefined
    return isObject(media) ? media.schema : undefined
  }

  /** The refusals of an answer, by tag. */
  const refusalsOf = (document: Document, schema: unknown) =>
    new Map(
      variantsOf(document, schema).flatMap((one) => {
        const tag = resolved(document, (isObject(one.properties) ? one.properties : {})._tag)
        return listOf(tag.enum ?? (tag.const === undefined ? [] : [tag.const])).map(
          (name) => [name, one] as const
        )
      })
    )

  const answers = (before: Json, after: Json, where: string): ReadonlyArray<string> => {
    const responses = isObject(after.responses) ? after.responses : {}
    return Object.entries(isObject(before.responses) ? before.responses : {}).flatMap(([status, one]) => {
      if (responses[status] === undefined) return [`${where}: ${status} is gone`]
      const [was, is] = [contentOf(old, one), contentOf(now, responses[status])]
      if (was === undefined) return []
      if (Number(status) < 400) return schemas(was, is, `${where}: ${status}`, "answer")
      const refusals = refusalsOf(now, is)
      return [...refusalsOf(old, was)].flatMap(([tag, refusal]) => {
        const other = refusals.get(tag)
        return other === undefined
          ? [`${where}: ${status} ${tag} is gone`]
          : objects(refusal, other, `${where}: ${status} ${tag}`, "answer")
      })
    })
  }

  const operations = (before: Json, after: Json, where: string): ReadonlyArray<string> => {
    const needs = /Needs the permission `([^`]+)`/
    const [needed, needed_] = [before, after].map((one) => needs.exec(String(one.description))?.[1])
    const body = contentOf(old, before.requestBody)
    const required = resolved(now, after.requestBody).required === true && before.requestBody === undefined
    return [
      ...(before.operationId === after.operationId ? [] : [`${where}: is called ${after.operationId}`]),
      ...(needed === needed_ ? [] : [`${where}: needs ${needed_}, and needed ${needed}`]),
      ...parameters(before, after, where),
      ...(required ? [`${where}: a body is required`] : []),
      ...(body === undefined
        ? []
        : schemas(body, contentOf(now, after.requestBody), `${where}: body`, "request")),
      ...answers(before, after, where)
    ]
  }

  return Object.entries(old.paths).flatMap(([path, methods]) =>
    METHODS.filter((method) => methods[method] !== undefined).flatMap((method) => {
      const where = `${method.toUpperCase()} ${path}`
      const after = now.paths[path]?.[method]
      return after === undefined
        ? [`${where}: is gone`]
        : operations(methods[method] as Json, after as Json, where)
    })
  )
}
