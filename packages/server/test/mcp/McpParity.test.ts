/**
 * Every operation of the contract over both transports: the same answer, refusal, status and audit.
 *
 * Successes are compared between two equal worlds, because most operations change theirs; random values in them (ids, times,
 * secrets) are numbered in order of appearance. Refusals are compared to the letter, in one world.
 */
import { expect, layer } from "@effect/vitest"
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { problems } from "@posthorn/api-contract/Problem"
import { permissionsOf } from "@posthorn/domain/Permission"
import { Effect, Option } from "effect"
import { describe, it as test } from "vitest"
import type { Caller } from "../../src/gate/AuthenticatedCaller.ts"
import type { ObjectSchema } from "../../src/mcp/ToolSchemas.ts"
import { tools, toolsFor } from "../../src/mcp/Tools.ts"
import { unknown } from "../Fixtures.ts"
import { callTool, type ToolResult } from "../McpCalls.ts"
import { makeWorld, pathOf, type Sample, sampleOf, samples, type World } from "../Samples.ts"
import { type Answer, type Call, type Entered, TestServer, testServer } from "../TestServer.ts"

const operations = entries.filter(({ rules }) => rules.permission !== "operator")

/** Numbers random values, so that two equal worlds look alike. */
const normalised = (text: string, slug: string) => {
  const seen = new Map<string, string>()
  const number = (kind: string) => (found: string) => {
    if (!seen.has(found)) seen.set(found, `${kind}#${seen.size + 1}`)
    return seen.get(found)!
  }
  return text
    .replaceAll(slug, "SLUG")
    .replace(/Workspace \d+/g, "NAME")
    .replace(/fixture\.n\d+/g, "TYPE")
    .replace(/"oldestWaitingSeconds":\d+/g, '"oldestWaitingSeconds":0')
    .replace(/"webhook-timestamp":"\d+"/g, '"webhook-timestamp":"SECONDS"')
    .replace(/phk_[A-Za-z0-9_]+/g, "TOKEN")
    .replace(/whsec_[A-Za-z0-9+/=]+/g, "SECRET")
    .replace(/#code=[A-Za-z0-9_-]+/g, "#CODE")
    .replace(/\b[a-z]{3}_[0-9a-f]{29}\b/g, number("id"))
    .replace(/\b[0-9a-f]{32}\b/g, number("trace"))
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "TIME")
    .replace(/"nextCursor":"[^"]+"/, '"nextCursor":"CURSOR"')
}

const argumentsOf = (entry: ContractEntry, world: World, { body, query }: Sample) => {
  const path = Object.fromEntries(
    [...entry.path.matchAll(/:(\w+)/g)].map(([, name]) => [name!, world[name!]])
  )
  return { ...path, ...query, ...(body as object) }
}

const validator = new AjvJsonSchemaValidator()

/** Faults of a value by a tool's schema, as the SDK's client finds them. */
const problemsOf = (schema: ObjectSchema, value: unknown) =>
  validator.getValidator(schema as never)(value).errorMessage

const toolOf = (entry: ContractEntry) => tools.find((tool) => tool.entry === entry)!

/** As an agent writes them: numbers, where a query has digits. */
const withNumbers = (args: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, /^\d+$/.test(String(value)) ? Number(value) : value])
  )

const throughRest = (call: Call, entry: ContractEntry, world: World, sample: Sample, token: string) =>
  call(entry.method, pathOf(entry, world, sample.query), {
    token,
    ...(sample.body === undefined ? {} : { body: sample.body })
  })

const textOf = (result: ToolResult) => result.content[0]!.text

const withoutTrace = (text: string) => text.replace(/"traceId":"[0-9a-f]{32}"/, '"traceId":"-"')

/** The same refusal: the tool's text equals the REST body, except for the trace id. */
const expectSameRefusal = (rest: Answer<unknown>, tool: ToolResult) => {
  expect(rest.status).toBeGreaterThanOrEqual(400)
  expect(tool).toEqual({ content: [{ type: "text", text: expect.any(String) }], isError: true })
  expect(withoutTrace(textOf(tool))).toBe(withoutTrace(rest.text))
  const problem = JSON.parse(textOf(tool)) as {
    readonly status: number
    readonly _tag: keyof typeof problems
  }
  expect(problem.status).toBe(rest.status)
  expect(problems[problem._tag].status).toBe(rest.status)
}

const auditOf = (ws: Entered) =>
  Effect.map(ws.call("GET", "/audit-events?limit=200"), ({ text }) =>
    normalised(text, ws.slug).replaceAll('"via":"mcp"', '"via":"rest"')
  )

describe("the tools", () => {
  test("§1 every operation of a workspace is a tool with a unique name", () => {
    const names = operations.map(({ name, rules }) => [name, rules.tool])

    expect(names.filter(([, tool]) => tool === "")).toEqual([])
    expect(new Set(names.map(([, tool]) => tool)).size).toBe(names.length)
  })

  test("§4.7 the operator's own operations are tools that only the operator sees", () => {
    const own = entries.filter(({ rules }) => rules.permission === "operator").map(({ rules }) => rules.tool)
    const shown = (caller: Caller) =>
      toolsFor(caller, { names: null, outputSchemas: false }).map(({ name }) => name)
    const admin = { kind: "token", identity: { permissions: permissionsOf(["admin"]) } } as unknown as Caller

    expect(own.toSorted()).toEqual([
      "check_event_type_schema",
      "create_workspace",
      "delete_event_type",
      "delete_workspace",
      "draft_event_type_schema",
      "get_catalogue_event_type",
      "list_catalogue",
      "list_fleet",
      "list_operator_audit_events",
      "list_workspaces",
      "purge_event",
      "put_event_type",
      "update_workspace"
    ])
    expect(shown({ kind: "operator", operator: { name: null, epoch: "" } })).toEqual(
      entries.map(({ rules }) => rules.tool)
    )
    expect(shown(admin)).toEqual(operations.map(({ rules }) => rules.tool))
  })

  test("§1 every operation has a sample request", () => {
    expect(Object.keys(samples).toSorted()).toEqual(entries.map(({ name }) => name).toSorted())
  })
})

layer(testServer(), { excludeTestServices: true })("REST and MCP", (it) => {
  const twoWorlds = Effect.gen(function* () {
    const { call, enter, url } = yield* TestServer
    const [one, other] = [yield* enter, yield* enter]
    return { call, url, one, other, world: yield* makeWorld(one), otherWorld: yield* makeWorld(other) }
  })
  /** For calls that are refused, and so change neither world. */
  const sameTwoWorlds = Effect.runSync(Effect.cached(twoWorlds))

  for (const entry of operations) {
    const tool = entry.rules.tool

    it.effect(`§1 ${entry.name} gives the same answer, status and audit`, () =>
      Effect.gen(function* () {
        const { call, one, other, otherWorld, url, world } = yield* twoWorlds
        const sample = sampleOf(entry, world)

        const rest = yield* throughRest(call, entry, world, sample, one.token)
        const args = argumentsOf(entry, otherWorld, sampleOf(entry, otherWorld))
        const result = yield* callTool(url, other.token, tool, args)

        expect(rest.status, rest.text).toBe(entry.successStatus)
        expect(result.isError, textOf(result)).toBeUndefined()
        const body = rest.text === "" ? "{}" : rest.text
        expect(normalised(textOf(result), other.slug)).toBe(normalised(body, one.slug))
        expect(result.structuredContent).toEqual(JSON.parse(textOf(result)))
        const { listedForOperator, outputSchema } = toolOf(entry)
        expect(problemsOf(listedForOperator.inputSchema, withNumbers(args))).toBeUndefined()
        expect(problemsOf(outputSchema, result.structuredContent)).toBeUndefined()
        expect(yield* auditOf(other)).toBe(yield* auditOf(one))
      })
    )

    it.effect(
      `§1 ${entry.name} is refused alike without its permission, in another workspace, and for unknown ids`,
      () =>
        Effect.gen(function* () {
          const { call, one, other, otherWorld, url, world } = yield* sameTwoWorlds
          const sample = sampleOf(entry, world)
          const powerless = yield* one.tokenWith(
            entry.rules.permission === "notification:update" ? "notification:list" : "notification:update"
          )
          const strange: World = Object.fromEntries(
            Object.entries(world).map(([name, value]) => [
              name,
              name === "slug" ? value : unknown(value.slice(0, 4))
            ])
          ) as never
          const foreign: World = { ...otherWorld, slug: world.slug }
          const cases = [
            { token: powerless, world },
            { token: other.token, world },
            ...(entry.path.replace(":slug", "").includes(":")
              ? [
                  { token: one.token, world: strange },
                  { token: one.token, world: foreign }
                ]
              : [])
          ]

          for (const { token, world: where } of cases) {
            const rest = yield* throughRest(call, entry, where, sample, token)
            const result = yield* callTool(url, token, tool, argumentsOf(entry, where, sample))

            if (rest.status < 400)
              expect(normalised(textOf(result), one.slug)).toBe(normalised(rest.text, one.slug))
            else expectSameRefusal(rest, result)
          }
        })
    )

    if (Option.isSome(entry.bodySchema)) {
      it.effect(`§1 ${entry.name} refuses the same bodies in the same words`, () =>
        Effect.gen(function* () {
          const { call, one, url, world } = yield* twoWorlds
          const body = sampleOf(entry, world).body as Readonly<Record<string, unknown>>
          const bodies = [
            { ...body, colour: "red" },
            ...Object.keys(body).map((name) => ({ ...body, [name]: { no: 1 } }))
          ]

          for (const wrong of bodies) {
            const sample = { body: wrong }
            const rest = yield* throughRest(call, entry, world, sample, one.token)
            const result = yield* callTool(url, one.token, tool, argumentsOf(entry, world, sample))

            if (rest.status >= 400) expectSameRefusal(rest, result)
            else expect(result.isError).toBeUndefined()
          }
        })
      )
    }
  }
})
