import { readFileSync } from "node:fs"
import { expect, it } from "@effect/vitest"
import { problems } from "@posthorn/api-contract/Problem"
import { entries } from "@posthorn/api-contract/Walk"
import { Effect, Option, Schema } from "effect"
import { openApiDocument } from "../src/http/OpenApiDocument.ts"

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

const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"))
const document = openApiDocument({ baseUrl: "https://posthorn.example.net", version })
const text = JSON.stringify(document)

const operations = entries.map((entry) => ({
  entry,
  operation: document.paths[entry.path.replace(/:(\w+)/g, "{$1}")]![entry.method.toLowerCase()] as Operation
}))

it("§9 the committed document is what the contract says", () => {
  const committed = readFileSync(new URL("../../api-contract/openapi.json", import.meta.url), "utf8")

  expect(committed, "run `npm run openapi`").toBe(`${JSON.stringify(document, null, 2)}\n`)
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

it.effect("§9 every example of a request and of a success is one the contract accepts", () =>
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
        yield* decode(entry.successSchema, success.example)
        expect(success.schema, `${entry.name}: a shape without a name; list it in Api.ts`).toEqual({
          $ref: expect.any(String)
        })
      } else expect(entry.successStatus).toBe(204)
    }
  })
)

it("§7 every error status is a problem with an example for each tag, and only for what can occur", () => {
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

it("§9 nothing of the program's inside shows", () => {
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
  expect(document.info.license.name).toBe("Apache-2.0")
})
