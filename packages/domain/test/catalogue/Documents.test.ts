import { describe, expect, it } from "vitest"
import type { DescribedType } from "../../src/catalogue/DescribedType.ts"
import { asyncApiDocument, openApiDocument } from "../../src/catalogue/Documents.ts"
import { describedTypes } from "../../src/catalogue/FromOpenApi.ts"
import type { SchemaObject } from "../../src/catalogue/JsonSchema.ts"

const about = { title: "Acme", version: "1" }

const paid: DescribedType = {
  eventType: "invoice.paid",
  description: "An invoice was paid in full.",
  group: "Invoices",
  schema: {
    type: "object",
    properties: { id: { type: "integer" }, lines: { type: "array", items: { $ref: "#/$defs/line" } } },
    required: ["id"],
    $defs: { line: { type: "object", properties: { sku: { type: "string" } } } }
  },
  examples: [{ id: 1, lines: [] }],
  deprecated: false,
  replacedBy: null
}
const tree: DescribedType = {
  ...paid,
  eventType: "tree.grown",
  schema: { type: "object", properties: { next: { $ref: "#" } } },
  examples: [],
  deprecated: true,
  replacedBy: "invoice.paid"
}
const bare: DescribedType = { ...paid, eventType: "bare", description: null, group: null, schema: null }

describe("documents of the catalogue", () => {
  it("reads from its own OpenAPI document what was written there", () => {
    expect(describedTypes(openApiDocument([paid, tree, bare], about))).toEqual([paid, tree, bare])
  })

  // Linted by tools/openapi/lint.mjs.
  it("writes the documents that the linters judge", async () => {
    for (const [name, document] of [
      ["openapi", openApiDocument([paid, tree, bare], about)],
      ["asyncapi", asyncApiDocument([paid, tree, bare], about)]
    ] as const)
      await expect(`${JSON.stringify(document, null, 2)}\n`).toMatchFileSnapshot(`corpora/${name}.json`)
  })

  it("makes references lead to the same place, also by name", () => {
    const named: DescribedType = {
      ...paid,
      schema: {
        $id: "https://acme.example/x",
        properties: { a: { $ref: "#line" }, b: { $ref: "x#/$defs/a~1b" } },
        $defs: { line: { $anchor: "line", type: "string" }, "a/b": { type: "integer" } }
      }
    }
    for (const document of [openApiDocument([named], about), asyncApiDocument([named], about)]) {
      const { schemas } = document.components as SchemaObject
      expect((schemas as SchemaObject)["invoice.paid"]).toEqual({
        properties: {
          a: { $ref: "#/components/schemas/invoice.paid/%24defs/line" },
          b: { $ref: "#/components/schemas/invoice.paid/%24defs/a~1b" }
        },
        $defs: { line: { type: "string" }, "a/b": { type: "integer" } }
      })
    }
  })

  it("takes the webhooks of another document, with what they refer to", () => {
    const schema = { $ref: "#/components/schemas/Order" }
    const document = {
      openapi: "3.1.0",
      webhooks: {
        "order.made": {
          post: {
            summary: "An order was made.",
            tags: ["Orders"],
            requestBody: { $ref: "#/components/requestBodies/Order" }
          }
        },
        "order.gone": { post: { requestBody: { content: { "application/json": {} } } } }
      },
      components: {
        requestBodies: { Order: { content: { "application/json": { schema, example: { id: 7 } } } } },
        schemas: {
          Order: {
            type: "object",
            xml: { name: "order" },
            properties: {
              id: { type: "integer", example: 7 },
              example: { type: "string", nullable: true },
              parent: { $ref: "#/components/schemas/Order" },
              buyer: { $ref: "#/components/schemas/Buyer" }
            }
          },
          Buyer: { type: "object", properties: { friend: { $ref: "#/components/schemas/Buyer" } } }
        }
      }
    }
    const nothing = { group: null, schema: null, examples: [], deprecated: false, replacedBy: null }
    expect(describedTypes(document)).toEqual([
      {
        ...nothing,
        eventType: "order.made",
        description: "An order was made.",
        group: "Orders",
        schema: {
          type: "object",
          properties: {
            id: { type: "integer", examples: [7] },
            example: { type: ["string", "null"] },
            parent: { $ref: "#" },
            buyer: { $ref: "#/$defs/Buyer" }
          },
          $defs: { Buyer: { type: "object", properties: { friend: { $ref: "#/$defs/Buyer" } } } }
        },
        examples: [{ id: 7 }]
      },
      { ...nothing, eventType: "order.gone", description: null }
    ])
    expect(describedTypes({ openapi: "3.1.0", paths: {} })).toBeUndefined()
  })
})
