/** What the catalogue adds to the processor time of a publish, beside the database. */
import { expect, it } from "@effect/vitest"
import { Catalogue } from "@posthorn/catalogue/Catalogue"
import { Deviations } from "@posthorn/catalogue/Deviations"
import { compileSchema } from "@posthorn/catalogue/Schemas"
import { JsonText } from "@posthorn/domain/JsonText"
import { EventsRepo, type Published } from "@posthorn/persistence/repositories/EventsRepo"
import { atBest } from "@posthorn/testkit/AtBest"
import { Effect, Layer } from "effect"
import { PayloadChecks } from "../src/PayloadChecks.ts"

const MOST_US = 50
const MOST_WITHOUT_SCHEMA_US = 1

const line = { sku: "abc-123", quantity: 2, price: "12.99", note: "x".repeat(20) }
/** 1 KB. */
const payload = new JsonText(
  JSON.stringify({ id: "in_1", total: 12, currency: "EUR", lines: Array.from({ length: 13 }, () => line) })
)

const SCHEMA = {
  type: "object",
  required: ["id", "total"],
  additionalProperties: false,
  properties: {
    id: { type: "string" },
    total: { type: "integer" },
    currency: { enum: ["EUR", "USD"] },
    lines: {
      type: "array",
      items: {
        type: "object",
        required: ["sku"],
        properties: {
          sku: { type: "string", pattern: "^[a-z]+-[0-9]+$" },
          quantity: { type: "integer", minimum: 1 },
          price: { type: "string" },
          note: { type: "string", maxLength: 100 }
        }
      }
    }
  }
}

const published: ReadonlyArray<Published> = [
  { id: "evt_1" as Published["id"], eventType: "judged", deliveryIds: [], duplicate: false }
]
const publish = Effect.succeed(published)

/** No database: nothing here asks it. */
const checksOf = Effect.gen(function* () {
  const judge = yield* compileSchema(JSON.stringify(SCHEMA))
  const type = { eventType: "judged", validation: "refuse", version: 1, since: "", size: 1 }
  const parts = Layer.mergeAll(
    Layer.succeed(Catalogue, {
      ruleOf: (name: string) => (name === "judged" ? type : undefined),
      isLoaded: () => true,
      readyJudge: () => judge,
      keepRenewed: Effect.void
    } as never),
    Layer.succeed(Deviations, { count: () => Effect.void } as never),
    Layer.succeed(EventsRepo, {} as never)
  )
  return yield* Effect.provide(PayloadChecks, Layer.provide(PayloadChecks.DefaultWithoutDependencies, parts))
})

const TIMES = 5_000

const microseconds = <E>(work: Effect.Effect<unknown, E>) =>
  Effect.suspend(() => {
    const began = process.cpuUsage()
    return Effect.map(Effect.repeatN(work, TIMES), () => {
      const { system, user } = process.cpuUsage(began)
      return (system + user) / TIMES
    })
  })

it.scoped("§6.2 a publish costs at most 50 µs more with a schema and 1 KB, and nothing without one", () =>
  Effect.gen(function* () {
    const checks = yield* checksOf
    const publishing = (eventType: string) =>
      checks.checked(
        "wsp_1" as never,
        "connection",
        [{ eventType, payload, idempotencyKey: null, endpointIds: null, retry: true }],
        () => "",
        publish
      )
    const judged = yield* atBest(MOST_US, microseconds(publishing("judged")), (took) => took)
    const added = Effect.zipWith(
      microseconds(publishing("other")),
      microseconds(publish),
      (one, bare) => one - bare
    )
    const other = yield* atBest(MOST_WITHOUT_SCHEMA_US, added, (took) => took)

    expect(payload.text.length).toBeGreaterThan(1_000)
    expect(judged).toBeLessThan(MOST_US)
    expect(other).toBeLessThan(MOST_WITHOUT_SCHEMA_US)
  })
)
