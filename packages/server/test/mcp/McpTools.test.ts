/** The content of `tools/list`, and its size: a model reads the whole list before an agent does anything. */
import { expect, layer } from "@effect/vitest"
import { entries } from "@posthorn/api-contract/Contract"
import { problems } from "@posthorn/api-contract/Problem"
import * as Errors from "@posthorn/domain/Errors"
import { permissions } from "@posthorn/domain/Permission"
import { Effect } from "effect"
import { describe, it as test } from "vitest"
import { type ListedTool, tools } from "../../src/mcp/Tools.ts"
import { makeDelivery, makeEndpoint, publish } from "../Fixtures.ts"
import { callTool, rpc } from "../McpCalls.ts"
import { entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

/** Of one tool, and of the two that take an endpoint's policy and request. */
const MOST_OF_ONE = 2_500
const MOST_OF_ENDPOINTS = 4_500

/** All schemas within a schema. */
const schemasIn = (value: unknown): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  if (Array.isArray(value)) return value.flatMap(schemasIn)
  if (typeof value !== "object" || value === null) return []
  return [value as Record<string, unknown>, ...Object.values(value).flatMap(schemasIn)]
}

describe("the list of tools", () => {
  const shapes = tools.map(({ listed }) => listed)

  test("§4.7 (Compatibility) an answer's schema allows members that it does not name", () => {
    const closed = tools.filter(({ outputSchema }) =>
      schemasIn(outputSchema).some(({ additionalProperties }) => additionalProperties === false)
    )

    expect(shapes.length).toBeGreaterThan(20)
    expect(closed.map(({ listed }) => listed.name)).toEqual([])
  })

  test("§4.7 every schema is of type object, as the protocol requires, even where answers differ", () => {
    expect(
      tools.filter(({ outputSchema }) => outputSchema.type !== "object").map(({ listed }) => listed.name)
    ).toEqual([])
    expect(shapes.filter(({ inputSchema }) => inputSchema.type !== "object").map(({ name }) => name)).toEqual(
      []
    )
  })

  test("§4.7 every description says what to use the tool for, and names existing tools only", () => {
    const names = new Set(shapes.map(({ name }) => name))
    const verbs =
      /^(add|cancel|create|delete|diagnose|explain|get|list|mark|publish|remove|replay|revoke|rotate|send|start|update)_/

    for (const { description, name } of shapes) {
      const named = (description.match(/\b[a-z]+(?:_[a-z]+)+\b/g) ?? []).filter((word) => verbs.test(word))
      expect(description.length, name).toBeGreaterThan(60)
      expect(
        named.filter((each) => !names.has(each)),
        name
      ).toEqual([])
    }
  })

  test("§4.7 no description mentions permissions, paths, headers or statuses, which belong to other transports", () => {
    const words = [
      ...permissions,
      "permission",
      "Authorization",
      "Idempotency-Key",
      "If-Match",
      "PATCH",
      "{slug}"
    ]
    const spoken = shapes.flatMap(({ description, name }) =>
      words.filter((word) => description.includes(word)).map((word) => `${name}: ${word}`)
    )

    expect(spoken).toEqual([])
    expect(
      shapes.filter(({ description }) => /\b4(?:03|09|12)\b/.test(description)).map(({ name }) => name)
    ).toEqual([])
  })

  test("§7.1 the refusals of tools are worded for every transport", () => {
    const ofTheTransport = new Set([
      "HeadersTooLarge",
      "MethodNotAllowed",
      "PreconditionFailed",
      "RequestTimeout"
    ])
    const ofHttp = new Set(["ForeignOrigin", "RouteNotFound", "Unauthorized", "UnsupportedMediaType"])
    const facts = {
      ...{ allow: "GET", bucket: "mcp", deliveryId: "whd_1", deliveryStatus: "pending", endpointId: "whe_1" },
      eventId: "evt_1",
      ...{ issues: [], limit: 1, limitBytes: 1, of: "tokens", permission: "webhook:read", reason: "x" },
      quota: "waiting",
      retryAfterSeconds: 1
    }
    const classes = Object.entries(Errors).filter(([tag]) => tag in problems) as ReadonlyArray<
      readonly [string, new (facts: object) => Error]
    >

    const spoken = classes
      .filter(([tag]) => !ofTheTransport.has(tag) && !ofHttp.has(tag))
      .map(([tag, Refusal]) => [tag, new Refusal(facts).message] as const)
      .filter(([, message]) => /\b(?:PATCH|POST|GET|header|query|path|If-Match|Bearer)\b/.test(message))

    expect(classes.length).toBeGreaterThan(20)
    expect(spoken).toEqual([])
  })

  test("§1 every operation with a tool says when to use it", () => {
    const silent = entries.filter(({ rules }) => rules.tool !== null && rules.guidance === undefined)

    expect(silent.map(({ name }) => name)).toEqual([])
  })
})

layer(testServer(), { excludeTestServices: true })("tools/list", (it) => {
  const listed = (token: string, query = "") =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const { body, text } = yield* rpc(`${url}/mcp${query}`, token, "tools/list")
      return { text, tools: (body.result as unknown as { readonly tools: ReadonlyArray<ListedTool> }).tools }
    })

  it.effect("§4.7 no list and no tool is longer than a model should have to read", () =>
    Effect.gen(function* () {
      const { token } = yield* entered
      const [admin, operator, core] = [
        yield* listed(token),
        yield* listed(OPERATOR_TOKEN),
        yield* listed(token, "?tools=core")
      ]
      const long = operator.tools.filter(
        (tool) =>
          JSON.stringify(tool).length >
          (/^(create|update)_webhook_endpoint$/.test(tool.name) ? MOST_OF_ENDPOINTS : MOST_OF_ONE)
      )

      expect(admin.tools.length).toBeGreaterThan(20)
      expect(admin.text.length).toBeLessThan(55_000)
      expect(operator.text.length).toBeLessThan(70_000)
      expect(core.text.length).toBeLessThan(20_000)
      expect(long.map(({ name }) => name)).toEqual([])
      expect(admin.text).not.toContain("outputSchema")
    })
  )

  it.effect("§4.7 ?tools= narrows the list and what may be called, and tells which names there are", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const { token } = yield* entered
      const names = (query: string) =>
        Effect.map(listed(token, query), ({ tools }) => tools.map(({ name }) => name))

      expect(yield* names("?tools=publish")).toEqual(["publish_event", "publish_events"])
      expect(yield* names("?tools=get_trace, publish")).toEqual([
        "get_trace",
        "publish_event",
        "publish_events"
      ])
      expect(yield* names("?tools=operator")).toEqual([])
      const { tools: core } = yield* listed(token, "?tools=core")
      expect(new Set(core.map(({ _meta }) => _meta.toolset))).toEqual(new Set(["core"]))

      const narrow = `${url}/mcp?tools=core`
      const outside = yield* rpc(narrow, token, "tools/call", { name: "list_members", arguments: {} })
      const inside = yield* callTool(narrow, token, "get_workspace_overview")
      expect(outside.body.error).toMatchObject({ code: -32602 })
      expect(inside.isError).toBeUndefined()

      const unknown = yield* rpc(`${url}/mcp?tools=core,repair`, token, "tools/list")
      expect(unknown.status).toBe(400)
      expect(unknown.text).toContain("core, publish, manage, catalogue, routing, operator")
    })
  )

  it.effect("§4.7 a shape appears once, and later tools refer to it", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const reader = yield* ws.tokenWith("webhook:read")

      const whole = "?outputSchemas=true"
      const [all, some] = [yield* listed(ws.token, whole), yield* listed(reader, whole)]

      const answerOf = (list: { readonly tools: ReadonlyArray<ListedTool> }, name: string) =>
        JSON.stringify(list.tools.find((tool) => tool.name === name)!.outputSchema)
      for (const list of [all, some]) {
        const known = new Set<string>()
        for (const { name, outputSchema } of list.tools) {
          known.add(name)
          for (const [, before] of JSON.stringify(outputSchema).matchAll(/As (\w+) gives it/g))
            expect(known.has(before!), name).toBe(true)
        }
      }
      expect(answerOf(all, "get_webhook_delivery")).toContain("gives it")
      expect(answerOf(some, "list_webhook_deliveries")).toContain("lastHttpStatus")
    })
  )

  it.effect("§4.5 lists leave payloads out unless they are requested; REST shows them", () =>
    Effect.gen(function* () {
      const { enter, url } = yield* TestServer
      const ws = yield* enter
      const { endpointId } = yield* makeDelivery(ws)
      yield* publish(ws, "fixture.big", { big: "x" })
      yield* makeEndpoint(ws)
      const payloadsOf = (items: unknown) =>
        (items as ReadonlyArray<{ readonly payload: unknown }>).map(({ payload }) => payload)
      const through = (name: string, args: object) =>
        Effect.map(callTool(url, ws.token, name, args), ({ structuredContent }) =>
          payloadsOf((structuredContent as { readonly items: unknown }).items)
        )

      const rest = yield* ws.call("GET", `/webhooks/${endpointId}/deliveries`)
      const asked = yield* ws.call("GET", `/webhooks/${endpointId}/deliveries?payload=include`)
      const silent = yield* through("list_webhook_deliveries", { endpointId })
      const omitted = yield* through("list_workspace_webhook_deliveries", { payload: "omit" })
      const included = yield* through("list_workspace_webhook_deliveries", { payload: "include" })

      expect([rest, asked].map(({ body }) => payloadsOf(body.items))).toEqual([[{}], [{}]])
      expect([silent, omitted, included]).toEqual([[null], [null], [{}]])
    })
  )
})
