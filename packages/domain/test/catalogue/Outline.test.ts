import { describe, expect, it } from "vitest"
import { type Member, outlineOf } from "../../src/catalogue/Outline.ts"

const lines = (member: Member, depth = 0): ReadonlyArray<string> =>
  depth > 3
    ? []
    : member
        .members()
        .flatMap((each) => [
          `${"  ".repeat(depth)}${each.name}${each.isRequired ? "!" : ""}: ${each.type}${each.limits.map((one) => `; ${one}`).join("")}${each.hasMembers ? " +" : ""}`,
          ...lines(each, depth + 1)
        ])

describe("outline of a schema", () => {
  it("says names, types, requirements and limits, with the members of members", () => {
    const outline = outlineOf({
      type: "object",
      required: ["id", "state"],
      properties: {
        id: { type: "integer", minimum: 1 },
        state: { enum: ["open", "paid"] },
        note: { type: ["string", "null"], maxLength: 1 },
        at: { type: "string", format: "date-time" },
        lines: {
          type: "array",
          minItems: 1,
          items: { $ref: "#/$defs/line" }
        },
        tags: { type: "array", items: { type: "string", minLength: 2, maxLength: 20 } },
        buyer: { anyOf: [{ $ref: "#/$defs/person" }, { type: "null" }] },
        payment: {
          oneOf: [
            { title: "card", type: "object", properties: { last4: { type: "string" } } },
            { type: "object", properties: { iban: { type: "string" } } }
          ]
        },
        labels: { type: "object", additionalProperties: { type: "string" } }
      },
      $defs: {
        line: { type: "object", properties: { sku: { type: "string" } }, required: ["sku"] },
        person: {
          allOf: [
            { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
            { properties: { friend: { $ref: "#/$defs/person" } }, required: ["friend"] }
          ]
        }
      }
    })
    expect(lines(outline)).toEqual([
      "id!: integer; at least 1",
      'state!: string; one of "open", "paid"',
      "note: string or null; at most 1 character",
      "at: string (date-time)",
      "lines: array of object; at least 1 element +",
      "  sku!: string",
      "tags: array of string; each: 2 to 20 characters",
      "buyer: object or null +",
      "  name!: string",
      "  friend!: object +",
      "    name!: string",
      "    friend!: object +",
      "      name!: string",
      "      friend!: object +",
      "payment: object +",
      "  card: object +",
      "    last4: string",
      "  option 2: object +",
      "    iban: string",
      "labels: object +",
      "  *: string"
    ])
  })

  it("ends for what refers to itself, and takes anything for a schema", () => {
    for (const schema of [
      true,
      false,
      { $ref: "#" },
      { allOf: [{ $ref: "#" }] },
      { anyOf: [{ $ref: "#" }, { $ref: "#" }] },
      { items: { $ref: "#" } },
      { type: "object", properties: { a: { $ref: "#/nowhere" } } }
    ])
      expect(outlineOf(schema).type).toEqual(expect.any(String))
  })
})
