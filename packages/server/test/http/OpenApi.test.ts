import { createHmac } from "node:crypto"
import { readFileSync } from "node:fs"
import { expect, it } from "@effect/vitest"
import { entries } from "@posthorn/api-contract/Contract"
import { problems } from "@posthorn/api-contract/Problem"
import { Effect, Option, Schema } from "effect"
import { openApiDocument } from "../../src/http/OpenApiDocument.ts"

interface Operation {
  readonly [member: string]: unknown
  readonly operationId: string
  readonly parameters: ReadonlyArray<{
    readonly name: string
    readonly description?: string
    readonly schema: object
  }>
  readonly requestBody?: { readonly content: { readonly "application/json": { readonly example: unknown } } }
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly content?: Readonly<
          Record<string, { readonly schema: object; readonly example?: unknown; readonly examples?: object }>
        >
      }
    >
  >
}

interface Loose {
  readonly properties: Readonly<Record<string, object>>
}

const { version } = JSON.parse(readFileSync(new URL("../../../../package.json", import.meta.url), "utf8"))
const document = openApiDocument({ baseUrl: "https://posthorn.example.net", version })
const text = JSON.stringify(document)

/** The target of a reference into `components`. */
const deref = (node: unknown): unknown => {
  const ref = (node as { readonly $ref?: string }).$ref
  if (ref === undefined) return node
  const found = ref
    .slice("#/".length)
    .split("/")
    .reduce((at: unknown, name) => (at as Readonly<Record<string, unknown>>)[name], document)
  if (found === undefined) throw new Error(`${ref} leads nowhere`)
  return found
}

/** The example of a success. */
const shown = ({ examples }: { readonly examples?: object }) =>
  (deref((examples as { readonly success: unknown }).success) as { readonly value: unknown }).value

const operations = entries.map((entry) => {
  const told = document.paths[entry.path.replace(/:(\w+)/g, "{$1}")]![entry.method.toLowerCase()] as Operation
  const operation = {
    ...told,
    parameters: told.parameters.map(deref),
    responses: Object.fromEntries(
      Object.entries(told.responses).map(([status, each]) => [status, deref(each)])
    )
  } as Operation
  return { entry, operation, told }
})

it("§9 the committed document is generated from the contract", () => {
  const committed = readFileSync(new URL("../../../api-contract/openapi.json", import.meta.url), "utf8")

  expect(committed, "run `npm run generate`").toBe(`${JSON.stringify(document, null, 2)}\n`)
})

it("§9 every operation has its name, a summary, a description, a tag and security", () => {
  for (const { entry, operation } of operations) {
    expect(operation).toMatchObject({
      operationId: entry.name,
      summary: expect.stringMatching(/^[A-Z].{3,}[^.]$/),
      description: expect.stringMatching(/\.$/),
      tags: [expect.any(String)],
      security: [{ bearer: [] }]
    })
    for (const { description, name } of operation.parameters)
      expect(description, `${entry.name} ${name}`).toMatch(/\S/)
  }
  expect(document.tags).toEqual(
    document.tags.map(({ name }) => ({ name, description: expect.stringMatching(/\.$/) }))
  )
})

it.effect("§9 the contract accepts every example of a request and of a success", () =>
  Effect.gen(function* () {
    for (const { entry, operation } of operations) {
      const decode = (schema: Schema.Schema.Any, example: unknown) =>
        Schema.decodeUnknown(schema as Schema.Schema<unknown>, { onExcessProperty: "error" })(example).pipe(
          Effect.mapError((error) => new Error(`${entry.name}: ${error.message}`))
        )
      if (Option.isSome(entry.bodySchema)) {
        yield* decode(entry.bodySchema.value, operation.requestBody!.content["application/json"].example)
      }
      const success = operation.responses[String(entry.successStatus)]!.content?.["application/json"]
      if (success !== undefined) {
        yield* decode(entry.successSchema, shown(success))
        expect(success.schema, `${entry.name}: a shape without a name; list it in Api.ts`).toEqual({
          $ref: expect.any(String)
        })
      } else expect(entry.successStatus).toBe(204)
    }
  })
)

it("§9 every member has an example, and examples of whole shapes are made from those", () => {
  const lacking: Array<string> = []
  const walk = (path: string, example: unknown): void => {
    if (example === undefined || example === "") lacking.push(path)
    if (typeof example !== "object" || example === null) return
    for (const [name, value] of Object.entries(example)) walk(`${path}.${name}`, value)
  }
  for (const { entry, operation } of operations) {
    const body = operation.requestBody?.content["application/json"]
    const success = operation.responses[String(entry.successStatus)]!.content?.["application/json"]
    if (body !== undefined) walk(`${entry.name} body`, body.example)
    if (success !== undefined) walk(`${entry.name} answer`, shown(success))
  }

  expect(lacking).toEqual([])
})

it("§7 every error status is a problem with an example for each tag, and only for possible errors", () => {
  for (const { entry, operation } of operations) {
    const tags = Object.entries(operation.responses).flatMap(([status, response]) => {
      if (Number(status) < 400) return []
      const media = response.content!["application/problem+json"]!
      const tags = Object.keys(media.examples!)
      for (const tag of tags) expect(problems[tag as keyof typeof problems].status).toBe(Number(status))
      return tags
    })
    expect(tags).toEqual(
      expect.arrayContaining([
        // For an unknown query parameter.
        "InvalidRequest",
        "Unauthorized",
        "Forbidden",
        "RateLimited",
        "InternalError",
        "ServiceUnavailable"
      ])
    )
    expect(tags.includes("WorkspaceNotFound"), entry.name).toBe(entry.inWorkspace)
    expect(tags.includes("PayloadTooLarge"), entry.name).toBe(Option.isSome(entry.bodySchema))
    expect(tags).not.toContain("HttpApiDecodeError")
  }
})

it("§8 a limit is an integer with its bounds", () => {
  const limits = operations.flatMap(({ operation }) =>
    operation.parameters.filter(({ name }) => name === "limit")
  )

  expect(limits.length).toBeGreaterThan(5)
  for (const { schema } of limits)
    expect(schema).toEqual({ type: "integer", minimum: 1, maximum: 200, default: 50 })
})

it("§9 no internal name of the program appears", () => {
  expect(text).not.toMatch(
    /"\$id"|"title":"(?:max|min|int|pattern|unknown)|HttpApiDecodeError|NonEmptyString|schemas\/Int\b|undefined/
  )
  expect(Object.keys(document.components.schemas)).toEqual(
    expect.arrayContaining([
      "Workspace",
      "WebhookEndpoint",
      "Delivery",
      "DeliveryPage",
      "Attempt",
      "CreatedApiToken",
      "Forbidden"
    ])
  )
  expect(document.info.license?.name).toBe("Apache-2.0")
})

it("§9 refusals, their examples and common parameters appear once, so that the document stays small", () => {
  for (const { entry, told } of operations) {
    for (const [status, response] of Object.entries(told.responses)) {
      if (Number(status) < 400) continue
      expect([entry.name, status, response]).toEqual([entry.name, status, { $ref: expect.any(String) }])
      for (const example of Object.values((deref(response) as Operation["responses"][string]).content!)) {
        for (const each of Object.values(example.examples!)) expect(deref(each)).toHaveProperty("value._tag")
      }
    }
  }
  expect(Object.keys(document.components.parameters)).toEqual(expect.arrayContaining(["Limit", "Slug"]))
  expect(text.length / entries.length).toBeLessThan(5_000)
})

it("§9 every member of every shape has a description", () => {
  const undescribed: Array<string> = []
  const walk = (path: string, node: unknown): void => {
    if (typeof node !== "object" || node === null) return
    for (const [key, value] of Object.entries(node)) {
      if (key === "properties") {
        for (const [name, member] of Object.entries(value as Readonly<Record<string, object>>)) {
          const described = deref(member) as { readonly description?: string }
          if (!/\S/.test(described.description ?? "")) undescribed.push(`${path}.${name}`)
        }
      }
      if (key !== "examples" && key !== "example") walk(key === "properties" ? path : `${path}/${key}`, value)
    }
  }
  for (const [name, schema] of Object.entries(document.components.schemas)) walk(name, schema)

  expect(undescribed).toEqual([])
})

it("§4.1 the webhooks section says what a receiver gets, with an example that verifies", () => {
  const { post } = document.webhooks.delivery
  const [id, timestamp, signature] = post.parameters.map(({ example }) => example) as [string, string, string]
  const secret = (deref({ $ref: "#/components/schemas/RotatedSecret" }) as Loose).properties.signingSecret
  const rotated = operations.find(({ entry }) => entry.name === "rotateWebhookSecret")!.operation
  const { signingSecret } = shown(rotated.responses["200"]!.content!["application/json"]!) as {
    readonly signingSecret: string
  }
  const body = JSON.stringify(post.requestBody.content["application/json"].example)
  const key = Buffer.from(signingSecret.slice("whsec_".length), "base64")

  expect(secret).toHaveProperty("description")
  expect(key.length).toBe(32)
  expect(JSON.parse(body)).toMatchObject({ deliveryId: id, eventType: "invoice.paid" })
  expect(signature).toBe(
    `v1,${createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64")}`
  )
  expect(post.description).toContain("HMAC-SHA256")
})

it("§7.1 the type of every error leads to a heading", () => {
  for (const tag of Object.keys(problems)) expect(document.info.description).toContain(`\n### ${tag}\n`)
})
