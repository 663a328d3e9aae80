/**
 * The catalogue as OpenAPI and AsyncAPI, without hidden types. Source: spec §6.2.
 *
 * Both documents are made once for each version of the catalogue, and the version is asked at most once a second, whoever and how
 * many ask: one of them may be open to everybody. Schemas and examples together have at most `MOST_BYTES`; types beyond stay, as
 * ones whose payload may be anything.
 */
import type { DescribedType } from "@posthorn/domain/catalogue/DescribedType"
import { asyncApiDocument, componentOf, openApiDocument } from "@posthorn/domain/catalogue/Documents"
import type { JsonSchema } from "@posthorn/domain/catalogue/JsonSchema"
import { EventTypesRepo } from "@posthorn/persistence/repositories/EventTypesRepo"
import { Clock, Effect } from "effect"

const MOST_BYTES = 1_048_576
const FRESH_MS = 1_000

export interface Documents {
  readonly version: number
  readonly openapi: string
  readonly asyncapi: string
}

export class EventTypeDocuments extends Effect.Service<EventTypeDocuments>()(
  "@posthorn/capabilities/EventTypeDocuments",
  {
    dependencies: [EventTypesRepo.Default],
    effect: Effect.gen(function* () {
      const types = yield* EventTypesRepo
      const turn = yield* Effect.makeSemaphore(1)
      let made: Documents | undefined
      let checkedAt = Number.NEGATIVE_INFINITY

      const make = (version: number) =>
        Effect.gen(function* () {
          const described: Array<DescribedType> = []
          const schemas: Record<string, JsonSchema> = {}
          for (const { examples, schema, ...type } of yield* types.documented(MOST_BYTES)) {
            const one = {
              ...type,
              schema: schema === null ? null : (JSON.parse(schema) as JsonSchema),
              examples: examples.map((text) => JSON.parse(text) as unknown)
            }
            described.push(one)
            schemas[type.eventType] = componentOf(one)
            yield* Effect.yieldNow()
          }
          const about = { title: "Webhooks", version: String(version) }
          const openapi = JSON.stringify(openApiDocument(described, about, schemas))
          yield* Effect.yieldNow()
          return { version, openapi, asyncapi: JSON.stringify(asyncApiDocument(described, about, schemas)) }
        })

      const renewed = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (made !== undefined && now - checkedAt < FRESH_MS) return made
        const version = yield* types.version
        if (made?.version !== version) made = yield* make(version)
        checkedAt = now
        return made
      })

      /** The texts; callers of the same moment wait for one making. */
      const get = turn.withPermits(1)(renewed).pipe(Effect.withSpan("EventTypeDocuments.get"))

      return { get } as const
    })
  }
) {}
