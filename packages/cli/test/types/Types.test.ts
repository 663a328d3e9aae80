/** What `posthorn types` writes compiles, tells payloads apart by their event type, and refuses a type that there is not. */
import type { DescribedType } from "@posthorn/domain/catalogue/DescribedType"
import { draft } from "@posthorn/domain/catalogue/Draft"
import type { JsonSchema } from "@posthorn/domain/catalogue/JsonSchema"
import { FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import { go } from "../../src/types/Go.ts"
import { python } from "../../src/types/Python.ts"
import { typeScript } from "../../src/types/TypeScript.ts"
import { type Compiled, compilers } from "./Compile.ts"

const typeOf = (eventType: string, schema: JsonSchema | null): DescribedType => ({
  eventType,
  description: null,
  group: null,
  schema,
  examples: [],
  deprecated: false,
  replacedBy: null
})

const payload = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<unknown>(null, true, 1, 1.5, 'a"\\\n*/', ""),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(
      fc.oneof(
        fc.constantFrom("id", "class", "str", "a-b", "__x", "-", 'a"b', "`", "\u2028", "ID", "type", "9", ""),
        fc.string({ unit: "grapheme", maxLength: 5 })
      ),
      tie("value"),
      { maxKeys: 4 }
    )
  )
})).value

/** Schemas that no draft has. */
const odd: ReadonlyArray<JsonSchema> = [
  true,
  false,
  {},
  { $ref: "#" },
  { anyOf: [{ $ref: "#" }, { type: "null" }] },
  {
    type: "object",
    properties: { next: { $ref: "#" }, all: { type: "array", items: { $ref: "#" } } },
    required: ["next"]
  },
  {
    $ref: "#/$defs/a",
    $defs: {
      a: {
        type: "object",
        description: 'Ends */ here\nand # """ there',
        properties: { b: { $ref: "#/$defs/b" } }
      },
      b: { oneOf: [{ $ref: "#/$defs/a" }, { type: "array", items: { $ref: "#/$defs/b" } }, { const: "x" }] }
    }
  },
  { type: "array", items: { $ref: "#" } },
  { type: "array", prefixItems: [{ type: "string" }, { type: "integer" }], items: false },
  { enum: [1, 1.5, "x", null, true] },
  { enum: [{ a: 1 }] },
  { type: "object", additionalProperties: { type: ["integer", "null"] } },
  {
    allOf: [
      { type: "object", properties: { a: { type: "string" } } },
      { properties: { b: { type: "number" } }, required: ["b", "c"] }
    ]
  },
  { type: ["object", "null"], properties: { a: { type: ["string", "null"] } } }
]

/** Names of types that languages know already, and types that look alike. */
const names = [
  "object",
  "string",
  "array",
  "none",
  "any",
  "delivery",
  "a.b",
  "a_b",
  "a.b.delivery",
  "2fa.enabled",
  "_",
  "type.error",
  "literal",
  "list"
]

const compiles = (compiled: Compiled | undefined) =>
  compiled === undefined ? undefined : expect(compiled.said, compiled.said).toSatisfy(() => compiled.isGood)

const RECEIVERS = {
  typescript: (shown: string) => `
import type { Delivery } from "./webhooks"
export const receive = (delivery: Delivery): number => {
  switch (delivery.eventType) {
    case "invoice.paid": return delivery.payload.id
    case "order.gone": return delivery.payload.reason.length
    ${shown}
    default: return delivery satisfies never
  }
}`,
  python: (shown: string) => `
from webhooks import Delivery
def receive(delivery: Delivery) -> int:
    if delivery["eventType"] == "invoice.paid":
        return delivery["payload"]["id"]
    if delivery["eventType"] == "${shown === "" ? "order.gone" : shown}":
        return len(delivery["payload"]["reason"])
    return 0
`,
  go: (shown: string) => `
package webhooks
func Receive(body []byte) (int, error) {
	delivery, err := Parse(body)
	switch delivery := delivery.(type) {
	case *InvoicePaidDelivery:
		return int(delivery.Payload.ID), nil
	case *OrderGoneDelivery:
		return len(delivery.Payload.Reason), nil
	${shown}
	}
	return 0, err
}`
}

const UNKNOWN = {
  typescript: 'case "order.lost": return 0',
  python: "order.lost",
  go: "case *OrderLostDelivery:"
}

const TWO = [
  typeOf("invoice.paid", { type: "object", properties: { id: { type: "integer" } }, required: ["id"] }),
  typeOf("order.gone", { type: "object", properties: { reason: { type: "string" } }, required: ["reason"] })
]

const written = { typescript: typeScript, python, go }

describe("posthorn types", () => {
  for (const language of ["typescript", "python", "go"] as const)
    it(`tells payloads apart by their event type, and refuses one that there is not, in ${language}`, async ({
      skip
    }) => {
      const types = written[language](TWO)
      const good = await compilers[language](types, RECEIVERS[language](""))
      if (good === undefined) return skip(`${language === "python" ? "mypy" : language} is not installed`)
      compiles(good)
      const bad = await compilers[language](types, RECEIVERS[language](UNKNOWN[language]))
      expect(bad?.isGood).toBe(false)
      expect(bad?.said).toMatch(/order\.lost|OrderLostDelivery|Non-overlapping/)
    }, 120_000)

  const drafts = fc.sample(fc.array(payload, { minLength: 1, maxLength: 3 }), { numRuns: 60, seed: 43 })
  const all = [
    ...odd.map((schema, index) => typeOf(`odd.n${index}`, schema)),
    ...names.map((name) =>
      typeOf(name, { type: "object", properties: { a: { type: "object", properties: { b: true } } } })
    ),
    ...drafts.map((payloads, index) => typeOf(`random.n${index}`, draft(payloads)))
  ]

  it("makes of every draft a type of TypeScript that each of its payloads has", async () => {
    const receiver = [
      'import type * as webhooks from "./webhooks"',
      ...drafts.flatMap((payloads, index) =>
        payloads.map(
          (one, at) => `export const r${index}_${at}: webhooks.RandomN${index} = ${JSON.stringify(one)}`
        )
      )
    ].join("\n")
    compiles(await compilers.typescript(typeScript(all), receiver))
  }, 120_000)

  for (const language of ["python", "go"] as const)
    it(`compiles in ${language}, whatever schemas and names there are`, async ({ skip }) => {
      const empty = language === "go" ? "package webhooks\n" : "import webhooks\n"
      const compiled = await compilers[language](written[language](all), empty)
      if (compiled === undefined) return skip(`${language === "python" ? "mypy" : "go"} is not installed`)
      compiles(compiled)
    }, 240_000)
})
