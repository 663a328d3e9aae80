/**
 * The promises of docs/compatibility.md: every breaking change is found, in any member of any answer, and allowed additions
 * are not reported. `scripts/ci/compatibility.ts` compares this build with the last release.
 */
import { readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { tools } from "../../src/mcp/Tools.ts"
import { breaksBetween } from "./Breaks.ts"

type Json = Readonly<Record<string, unknown>>
type Document = Parameters<typeof breaksBetween>[0]

const document = JSON.parse(
  readFileSync(new URL("../../../api-contract/openapi.json", import.meta.url), "utf8")
) as Document

const object = (properties: Json, required: ReadonlyArray<string> = Object.keys(properties)) => ({
  type: "object",
  properties,
  required
})

const refusal = (...tags: ReadonlyArray<string>) => ({
  content: {
    "application/problem+json": {
      schema: { anyOf: tags.map((tag) => object({ _tag: { type: "string", enum: [tag] } })) }
    }
  }
})

const json = (schema: Json) => ({ content: { "application/json": { schema } } })

interface Parts {
  readonly answer?: Json
  readonly body?: Json
  readonly parameters?: ReadonlyArray<Json>
  readonly operation?: Json
  readonly responses?: Json
  readonly paths?: Document["paths"]
}

const ANSWER = {
  id: { type: "string" },
  name: { anyOf: [{ type: "string" }, { type: "null" }] },
  status: { type: "string", enum: ["pending", "delivered"] },
  failureReason: { type: "string", enum: ["http_status"] },
  items: { type: "array", items: object({ at: { type: "string" } }) }
}
const BODY = { url: { type: "string", maxLength: 100 }, role: { type: "string", enum: ["viewer", "admin"] } }
const LIMIT = { name: "limit", in: "query", required: false, schema: { type: "integer", maximum: 200 } }

/** A document with one operation, changed in one position. */
const small = ({
  answer = object(ANSWER),
  body = object(BODY, ["url"]),
  operation,
  parameters,
  paths,
  responses
}: Parts = {}): Document => ({
  components: {},
  paths: {
    "/things": {
      post: {
        operationId: "createThing",
        description: "Needs the permission `thing:create`.",
        parameters: parameters ?? [LIMIT],
        requestBody: { required: true, ...json(body) },
        responses: { "201": json(answer), "409": refusal("Taken", "Full"), ...responses },
        ...operation
      }
    },
    ...paths
  }
})

const breaks: Readonly<Record<string, Parts>> = {
  "an operation is gone": { paths: { "/things": {} } },
  "it has another name": { operation: { operationId: "makeThing" } },
  "it needs another permission": { operation: { description: "Needs the permission `thing:admin`." } },
  "a member of the answer is gone": { answer: object((({ id, ...rest }) => rest)(ANSWER)) },
  "it may be missing": { answer: object(ANSWER, ["name", "status", "failureReason", "items"]) },
  "it is of another type": { answer: object({ ...ANSWER, id: { type: "number" } }) },
  "what was never null may be": {
    answer: object({ ...ANSWER, id: { anyOf: [{ type: "string" }, { type: "null" }] } })
  },
  "a member within a list is gone": {
    answer: object({ ...ANSWER, items: { type: "array", items: object({}) } })
  },
  "a status has a value that nobody knows": {
    answer: object({ ...ANSWER, status: { type: "string", enum: ["pending", "delivered", "lost"] } })
  },
  "an optional member is required": { body: object(BODY) },
  "a new member is required": { body: object({ ...BODY, more: { type: "string" } }, ["url", "more"]) },
  "a member of the body is gone": { body: object({ url: BODY.url }, ["url"]) },
  "a limit is tighter": { body: object({ ...BODY, url: { type: "string", maxLength: 99 } }, ["url"]) },
  "a limit is new": { body: object({ ...BODY, role: { ...BODY.role, maxLength: 9 } }, ["url"]) },
  "a value is refused": { body: object({ ...BODY, role: { type: "string", enum: ["viewer"] } }, ["url"]) },
  "a parameter is gone": { parameters: [] },
  "a parameter is required": { parameters: [{ ...LIMIT, required: true }] },
  "a parameter is bounded": { parameters: [{ ...LIMIT, schema: { type: "integer", maximum: 100 } }] },
  "a new parameter is required": {
    parameters: [LIMIT, { name: "x", in: "query", required: true, schema: {} }]
  },
  "a refusal has another tag": { responses: { "409": refusal("Taken", "TooMany") } },
  "a refusal has another status": {
    responses: { "409": refusal("Taken"), "422": refusal("Full") }
  },
  "the answer has another status": { responses: { "201": undefined, "200": json(object(ANSWER)) } }
}

const additions: Readonly<Record<string, Parts>> = {
  "an operation": { paths: { "/others": { get: { operationId: "listOthers", responses: {} } } } },
  "an optional parameter": {
    parameters: [LIMIT, { name: "x", in: "query", required: false, schema: { type: "string" } }]
  },
  "an optional member of the body": { body: object({ ...BODY, more: { type: "string" } }, ["url"]) },
  "a member of the answer": { answer: object({ ...ANSWER, more: { type: "string" } }) },
  "a failure reason": {
    answer: object({ ...ANSWER, failureReason: { type: "string", enum: ["http_status", "new"] } })
  },
  "a tag, with its status": { responses: { "429": refusal("RateLimited") } },
  "a wider limit": { body: object({ ...BODY, url: { type: "string", maxLength: 200 } }, ["url"]) },
  "a value that may be sent": {
    body: object({ ...BODY, role: { type: "string", enum: ["viewer", "admin", "auditor"] } }, ["url"])
  },
  "a text for people": {
    operation: { summary: "Another", description: "Other words. Needs the permission `thing:create`." }
  }
}

describe("compatibility", () => {
  it.each(Object.entries(breaks))("§9 finds that %s", (_, parts) => {
    const changed = small(parts)
    const paths = parts.paths?.["/things"] !== undefined ? { ...changed.paths, "/things": {} } : changed.paths
    const responses = JSON.parse(JSON.stringify({ ...changed, paths }))

    expect(breaksBetween(small(), responses)).toHaveLength(1)
  })

  it.each(Object.entries(additions))("§9 allows at any time: %s", (_, parts) => {
    expect(breaksBetween(small(), small(parts))).toEqual([])
  })

  it("§9 finds no break between this build and itself", () => {
    expect(breaksBetween(document, document)).toEqual([])
  })

  it("§9 covers every member of every shape of the API, and every operation", () => {
    const shapes = document.components.schemas as Readonly<Record<string, Json>>
    const used = new Set(
      [...JSON.stringify(document.paths).matchAll(/#\/components\/(?:schemas|responses)\/(\w+)/g)].map(
        ([, name]) => name!
      )
    )
    const missed: Array<string> = []
    let tried = 0
    for (const [name, shape] of Object.entries(shapes)) {
      if (!used.has(name) || shape.properties === undefined) continue
      for (const member of Object.keys(shape.properties as Json)) {
        const { [member]: _, ...properties } = shape.properties as Json
        const schemas = { ...shapes, [name]: { ...shape, properties } }
        tried += 1
        const without = { ...document, components: { ...document.components, schemas } }
        if (breaksBetween(document, without).length === 0) missed.push(`${name}.${member}`)
      }
    }
    for (const path of Object.keys(document.paths)) {
      const { [path]: _, ...paths } = document.paths
      tried += 1
      if (breaksBetween(document, { ...document, paths }).length === 0) missed.push(path)
    }

    expect(missed).toEqual([])
    expect(tried).toBeGreaterThan(200)
  })

  it("§9 no operation is deprecated", () => {
    const operations = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods as Readonly<Record<string, Json>>)
    )

    expect(operations.filter(({ deprecated }) => deprecated === true)).toEqual([])
    expect(Object.keys(document.paths).filter((path) => /\/v\d/.test(path))).toEqual([])
  })

  it("§9 MCP's output schemas allow members that are added later", () => {
    for (const { listed, outputSchema } of tools)
      expect(JSON.stringify(outputSchema), listed.name).not.toContain('"additionalProperties":false')
    expect(tools.length).toBeGreaterThan(20)
  })
})
