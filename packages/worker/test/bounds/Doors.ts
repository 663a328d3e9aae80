/**
 * Every operation at every door, as requests at their worst: REST and the console by the OpenAPI document that `serve` gives, MCP by
 * the tools that it lists. A tool of another name than its operation is tried by itself. `{slug}` and ids are those of things that
 * were made on the way.
 */
import { Array } from "effect"
import type { Asked } from "./Flood.ts"
import { KINDS, learn, type Repairs, type Schema, TAG, worstBody, worstText } from "./WorstInputs.ts"

interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly example?: unknown
  readonly schema: Schema
}

interface Described {
  readonly operationId: string
  readonly description: string
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly schema: Schema } } }
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
  readonly components: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

interface Tool {
  readonly name: string
  readonly inputSchema: Schema & { readonly $defs?: Readonly<Record<string, Schema>> }
}

type Door = "REST" | "console"

export interface Attempt {
  readonly name: string
  /** Most calls that its rate limit lets one caller make at once. */
  readonly most: number
  /** Whether it makes something, as far as is seen. */
  readonly makes: boolean
  /** The `n`th call. */
  readonly ask: (n: number) => Asked
}

export interface Answered {
  readonly status: number
  readonly body: unknown
}

/** What takes away would end what others try: it is tried last, in its own case alone, and spares the first id of each kind. */
const takesAway = (name: string) => /^(delete|remove|revoke|end|cancel|purge)/.test(name)

/** What several doors offer under one name, in turn: they share the operation, and so its bounds. */
export const together = (attempts: ReadonlyArray<Attempt>): ReadonlyArray<Attempt> =>
  Object.values(Array.groupBy(attempts, ({ name }) => name))
    .map((doors) => ({
      ...doors[0]!,
      most: Math.max(...doors.map(({ most }) => most)),
      ask: (n: number) => doors[n % doors.length]!.ask(Math.floor(n / doors.length))
    }))
    .toSorted((one, other) => Number(takesAway(one.name)) - Number(takesAway(other.name)))

/** Calls of one caller within a moment, by bucket: the defaults of spec §8.1, at most what a case can use. */
const QUOTAS: Readonly<Record<string, number>> = {
  assistant: 30,
  filter_try: 300,
  mcp: 120,
  rest_write: 120,
  rest_read: 600
}

export interface World {
  readonly url: string
  readonly slug: string
  readonly spare: string
  readonly operatorToken: string
  readonly token: string
  /** Of the newest session. */
  cookie: string
  readonly known: Readonly<Record<string, unknown>>
}

const JSON_TYPE = { "content-type": "application/json" }

export const call = async (url: string, { body, headers, method, path }: Asked): Promise<Answered> => {
  try {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(20_000)
    })
    const text = await answer.text()
    return { status: answer.status, body: text === "" ? {} : JSON.parse(text) }
  } catch {
    return { status: 0, body: {} }
  }
}

/** Of all bodies of a run: an address that one operation gave to a member is taken for another. */
let written = 0

/** Makes the worst body anew only once something was learnt. */
const bodyOf = (
  schema: Schema,
  resolve: ($ref: string) => Schema,
  kind: (typeof KINDS)[number],
  known: World["known"],
  idLike: (example: string) => string,
  repairs: Repairs
) => {
  let made: { readonly text: string; readonly learnt: string } | undefined
  return () => {
    const learnt = JSON.stringify([...repairs])
    if (made?.learnt !== learnt)
      made = { text: worstBody(schema, { resolve, repairs, kind, tag: TAG, known, idLike }), learnt }
    return made.text.replaceAll(TAG, (written++).toString(36).padStart(TAG.length, "0"))
  }
}

/** `whe` of `whe_…`; all trace ids are of one kind. */
const kindOf = (id: string) =>
  /^[0-9a-f]{32}$/.test(id) ? "trace" : /^([a-z]{3})_[0-9a-z]{20,}$/.exec(id)?.[1]

/** Ids by their kind, the newest last. */
export class Ids {
  private readonly found = new Map<string, Array<string>>()

  /** `never`: what must outlive the test. */
  private readonly never: ReadonlySet<string>

  constructor(never: ReadonlyArray<string>) {
    this.never = new Set(never)
  }

  /** From a refusal nothing: its trace id leads nowhere. */
  learnFrom({ body, status }: Answered) {
    if (status < 300) this.learn(body)
  }

  private learn(value: unknown) {
    if (typeof value === "string" && !this.never.has(value)) {
      const kind = kindOf(value)
      if (kind === undefined) return
      const known = this.found.get(kind) ?? []
      if (!known.includes(value) && known.length < 50) this.found.set(kind, [...known, value])
    } else if (typeof value === "object" && value !== null)
      for (const each of Object.values(value)) this.learn(each)
  }

  /** The first; with `n`, one that nobody else uses. */
  like(example: unknown, n?: number): string {
    const known = this.found.get(kindOf(String(example)) ?? "") ?? []
    return (
      (n === undefined ? known[0] : known.at(-1 - (n % Math.max(1, known.length - 1)))) ?? String(example)
    )
  }
}

const issuesOf = ({ body, status }: Answered) =>
  status === 400 ? ((body as { issues?: Array<{ path: string }> } | null)?.issues ?? []) : []

/** Sends each kind once, and puts right what is refused. */
const tried = async (
  url: string,
  kinds: ReadonlyArray<(n: number) => Asked>,
  repairs: ReadonlyArray<Repairs>,
  ids: Ids,
  issues: (answer: Answered) => ReadonlyArray<{ readonly path: string }>
) => {
  let makes = false
  for (const [n, ask] of kinds.entries())
    for (let round = 0; round < 12; round++) {
      const answer = await call(url, ask(900 + round))
      ids.learnFrom(answer)
      makes ||= (answer.status === 201 || answer.status === 202) && ask(0).method === "POST"
      if (!learn(repairs[n]!, issues(answer))) break
    }
  return makes
}

/** The console mounts the routes of REST below a workspace, so what is learnt at REST holds there. */
export const httpAttempts = async (world: World, ids: Ids) => {
  const document = await documentOf(world.url)
  const resolve = ($ref: string) => {
    const [, , room, name] = $ref.split("/")
    return document.components[room!]![name!] as never
  }
  const idLike = (example: string) => ids.like(example)
  const attempts: Array<Attempt> = []
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { description, operationId, parameters = [], requestBody }] of Object.entries(
      methods
    )) {
      const isOperators =
        !path.startsWith("/workspaces/{slug}/") || description.includes("Needs the operator's token")
      const doors: ReadonlyArray<Door> = isOperators ? ["REST"] : ["REST", "console"]
      const all = parameters.map((each) =>
        each.$ref === undefined ? each : (resolve(each.$ref) as Parameter)
      )
      const schema = requestBody?.content["application/json"].schema
      const repairs = KINDS.map((): Repairs => new Map())
      const credentials = (door: Door): Record<string, string> =>
        door === "console"
          ? { cookie: world.cookie, "sec-fetch-site": "same-origin", "x-console": "1" }
          : { authorization: `Bearer ${isOperators ? world.operatorToken : world.token}` }
      const bodies = KINDS.map(
        (kind, index) => schema && bodyOf(schema, resolve, kind, world.known, idLike, repairs[index]!)
      )
      const asks = KINDS.map((kind, index) => (n: number, door: Door = "REST"): Asked => {
        const making = {
          resolve,
          repairs: repairs[index]!,
          kind,
          // An idempotency key is one operation's.
          tag: `${n.toString(36)}${kind}${operationId}`,
          known: world.known,
          idLike
        }
        const slug = /\{slug\}$/.test(path) && method === "delete" ? world.spare : world.slug
        const place = path.replace(/\{(\w+)\}/g, (_, name: string) => {
          if (name === "slug") return slug
          const { example, schema } = all.find((each) => each.name === name)!
          return ids.like(example ?? schema.examples?.[0], takesAway(operationId) ? n : undefined)
        })
        const query = new URLSearchParams()
        const headers: Record<string, string> = { ...credentials(door), ...JSON_TYPE }
        for (const { in: where, example, name, schema } of all) {
          const whole = schema.$ref === undefined ? schema : (resolve(schema.$ref) as Schema)
          // The largest page first; then every filter at its longest.
          const isPage = whole.type === "integer" || whole.enum?.includes("include") === true
          if (where === "query" && (index > 0 || isPage) && name !== "cursor")
            query.set(
              name,
              isPage ? String(whole.maximum ?? "include") : worstText({ example, ...whole }, name, making)
            )
          if (where === "header" && index > 0) headers[name] = worstText({ example, ...schema }, name, making)
        }
        return {
          method: method.toUpperCase(),
          path: `${door === "console" ? "/console/api" : ""}${place}${query.size === 0 ? "" : `?${query}`}`,
          headers,
          body: bodies[index]?.()
        }
      })
      const makes =
        !takesAway(operationId) &&
        (await tried(world.url, schema === undefined ? asks.slice(0, 1) : asks, repairs, ids, issuesOf))
      const [, bucket = ""] = /rate limit `(\w+)`/.exec(description) ?? []
      attempts.push({
        name: operationId,
        makes,
        most: QUOTAS[bucket] ?? 1_000,
        ask: (n) => asks[n % asks.length]!(n, doors[Math.floor(n / asks.length) % doors.length])
      })
    }
  return attempts
}

const message = (method: string, params: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })

interface ToolAnswer {
  readonly result?: {
    readonly isError?: boolean
    readonly content?: ReadonlyArray<{ readonly text: string }>
  }
}

/** A tool names what is wrong with its arguments by their name, or as the header that an argument becomes. */
const toolIssues = ({ body }: Answered) => {
  const { content = [], isError } = (body as ToolAnswer).result ?? {}
  if (isError !== true) return []
  try {
    return issuesOf({ status: 400, body: JSON.parse(content[0]!.text) }).map(({ path }) => ({
      path: path.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    }))
  } catch {
    return []
  }
}

const documentOf = async (url: string) =>
  (await call(url, { method: "GET", path: "/openapi.json", headers: {} })).body as Document

export const mcpAttempts = async (world: World, ids: Ids) => {
  const { components, paths } = await documentOf(world.url)
  const named = [
    ...Object.values(components.parameters as Readonly<Record<string, Parameter>>),
    ...Object.values(paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ parameters = [] }) => parameters)
    )
  ]
  /** Examples of members by name: tools leave them out. */
  const examples = Object.fromEntries(
    Object.values(components.schemas as Readonly<Record<string, Schema>>)
      .flatMap(({ properties }) => Object.entries(properties ?? {}))
      .flatMap(([member, schema]) => (schema.examples === undefined ? [] : [[member, schema.examples]]))
  )
  const headers = {
    ...JSON_TYPE,
    accept: "application/json, text/event-stream",
    authorization: `Bearer ${world.token}`
  }
  const ask = (body: string): Asked => ({ method: "POST", path: "/mcp", headers, body })
  const listed = await call(world.url, ask(message("tools/list", {})))
  const { tools } = (listed.body as { result: { tools: ReadonlyArray<Tool> } }).result
  const attempts: Array<Attempt> = []
  for (const { inputSchema, name } of tools) {
    const repairs = KINDS.map((): Repairs => new Map())
    const resolve = ($ref: string) => inputSchema.$defs![$ref.split("/").at(-1)!]!
    const properties = Object.fromEntries(
      Object.entries(inputSchema.properties ?? {}).map(([member, schema]) => [
        member,
        { ...(examples[member] && { examples: examples[member] }), ...schema }
      ])
    )
    const bodies = KINDS.map((kind, index) => {
      const known = { ...world.known, idempotencyKey: `${"x".repeat(200)}${name}${kind}${TAG}` }
      const schema = { ...inputSchema, properties }
      return bodyOf(schema, resolve, kind, known, (example) => ids.like(example), repairs[index]!)
    })
    const asks = KINDS.map((_, index) => (n: number) => {
      const own = Object.fromEntries(
        Object.keys(inputSchema.properties ?? {}).flatMap((member) => {
          const example = named.find((each) => each.name === member && each.in === "path")?.example
          return example === undefined ? [] : [[member, ids.like(example, takesAway(name) ? n : undefined)]]
        })
      )
      const isList = inputSchema.properties?.limit !== undefined
      const args = isList
        ? { ...own, limit: 200, ...(inputSchema.properties?.payload && { payload: "include" }) }
        : { ...(JSON.parse(bodies[index]!()) as object), ...own }
      return ask(message("tools/call", { name, arguments: args }))
    })
    if (!takesAway(name)) await tried(world.url, asks, repairs, ids, toolIssues)
    attempts.push({
      name: name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase()),
      makes: false,
      most: QUOTAS.mcp!,
      ask: (n) => asks[n % asks.length]!(n)
    })
  }
  return attempts
}
