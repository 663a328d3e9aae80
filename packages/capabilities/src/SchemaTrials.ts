/** What real traffic says of a schema: drafts one from the newest events of a type, and tries one on them. Source: spec §6.2. */
import { type Budget, compileSchema, STEPS } from "@posthorn/catalogue/Schemas"
import { compare } from "@posthorn/domain/catalogue/Compare"
import { Draft } from "@posthorn/domain/catalogue/Draft"
import type { JsonSchema } from "@posthorn/domain/catalogue/JsonSchema"
import { EventTypeNotFound } from "@posthorn/domain/Errors"
import type { JsonText } from "@posthorn/domain/JsonText"
import { nextTurn } from "@posthorn/domain/NextTurn"
import { EventTypesRepo, type Viewer } from "@posthorn/persistence/repositories/EventTypesRepo"
import { Effect } from "effect"

/** Events that a schema is tried on. */
const TRIED = 200

/** Steps of a trial: some 2 s. When they are used up, fewer events are examined. */
const TRIAL_STEPS = 50 * STEPS

const EVERYTHING: Viewer = { workspaceId: null, seesHidden: true }

export class SchemaTrials extends Effect.Service<SchemaTrials>()("@posthorn/capabilities/SchemaTrials", {
  dependencies: [EventTypesRepo.Default],
  effect: Effect.gen(function* () {
    const types = yield* EventTypesRepo
    // The turns of several would follow each other without a pause.
    const trials = yield* Effect.makeSemaphore(1)

    const draft = Effect.fn("SchemaTrials.draft")(function* (eventType: string, most: number) {
      const drafting = new Draft()
      const events = yield* types.newestEvents(eventType, most)
      if (events.length === 0 && (yield* types.find(eventType, EVERYTHING)) === undefined)
        return yield* new EventTypeNotFound()
      for (const { payload } of events) {
        yield* nextTurn
        drafting.add(JSON.parse(payload))
      }
      return { schema: drafting.schema(), examined: events.length }
    })

    /** Fails where the catalogue would not take the schema. */
    const check = Effect.fn("SchemaTrials.check")(function* (eventType: string, { text }: JsonText) {
      const judge = yield* compileSchema(text)
      const present = yield* types.schemaOf(eventType)
      let left = TRIAL_STEPS
      let examined = 0
      const deviating = []
      for (const { id, payload, workspace } of yield* types.newestEvents(eventType, TRIED)) {
        if (left <= 0) break
        yield* nextTurn
        const budget: Budget = { left: STEPS }
        const issues = judge.issuesOf(JSON.parse(payload), budget)
        left -= STEPS - budget.left
        examined++
        if (issues.length > 0) deviating.push({ eventId: id, workspace, issues })
      }
      const before = present === null ? null : (JSON.parse(present) as JsonSchema)
      const changes = compare(before, JSON.parse(text) as JsonSchema)
      return { examined, fitting: examined - deviating.length, deviating, changes }
    })

    return {
      check: (eventType: string, schema: JsonText) => trials.withPermits(1)(check(eventType, schema)),
      draft: (eventType: string, most: number) => trials.withPermits(1)(draft(eventType, most))
    } as const
  })
}) {}
