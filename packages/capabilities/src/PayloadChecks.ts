/**
 * Judges payloads by the catalogue before they are published: under `refuse` one that does not fit is `InvalidPayload`, under `report`
 * it is counted once it is published. An event under a known key is not refused: it is answered as before. Source: spec §6.2.
 */
import { Catalogue, issuesOf } from "@posthorn/catalogue/Catalogue"
import { Deviations } from "@posthorn/catalogue/Deviations"
import { STEPS } from "@posthorn/catalogue/Schemas"
import { InvalidPayload, type Issue } from "@posthorn/domain/Errors"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { nextTurn } from "@posthorn/domain/NextTurn"
import { EventsRepo, type NewEvent, type Published } from "@posthorn/persistence/repositories/EventsRepo"
import { Effect } from "effect"
import { makeLines } from "./Lines.ts"

const MOST_ISSUES = 20

/** A longer payload is parsed and judged in a turn of its own. */
const SHORT = 65_536

const NOTHING: ReadonlySet<number> = new Set()

interface Unfit {
  readonly index: number
  readonly refuses: boolean
  readonly issues: ReadonlyArray<Issue>
}

export class PayloadChecks extends Effect.Service<PayloadChecks>()("@posthorn/capabilities/PayloadChecks", {
  dependencies: [Catalogue.Default, Deviations.Default, EventsRepo.Default],
  scoped: Effect.gen(function* () {
    const catalogue = yield* Catalogue
    yield* catalogue.keepRenewed
    const deviations = yield* Deviations
    const events = yield* EventsRepo
    const inLine = makeLines()

    const isJudged = ({ eventType }: Pick<NewEvent, "eventType">) => catalogue.ruleOf(eventType) !== undefined

    const judgeAll = (batch: ReadonlyArray<NewEvent>) =>
      Effect.gen(function* () {
        const budget = { left: STEPS }
        const unfit: Array<Unfit> = []
        for (const [index, { eventType, payload }] of batch.entries()) {
          const rule = catalogue.ruleOf(eventType)
          if (rule === undefined) continue
          const judge = catalogue.readyJudge(rule) ?? (yield* catalogue.judgeOf(rule))
          if (judge === null) continue
          if (payload.text.length > SHORT) yield* nextTurn
          const issues = issuesOf(judge, payload.text, budget)
          if (issues.length > 0) unfit.push({ index, refuses: rule.validation === "refuse", issues })
        }
        return unfit
      })

    /** Refuses the batch, or gives the places of the events to count. */
    const judge = (
      workspaceId: WorkspaceId,
      batch: ReadonlyArray<NewEvent>,
      pathOf: (index: number) => string
    ): Effect.Effect<ReadonlySet<number>, InvalidPayload> =>
      Effect.gen(function* () {
        const unfit = yield* judgeAll(batch)
        if (unfit.length === 0) return NOTHING
        const refused = unfit.filter(({ refuses }) => refuses)
        const keys = refused.flatMap(({ index }) => batch[index]!.idempotencyKey ?? [])
        const known = keys.length === 0 ? [] : yield* events.knownKeys(workspaceId, keys)
        const issues = refused
          .filter(({ index }) => !known.includes(batch[index]!.idempotencyKey ?? ""))
          .flatMap(({ index, issues }) =>
            issues.map(({ message, path }) => ({ path: pathOf(index) + path, message }))
          )
        if (issues.length > 0) return yield* new InvalidPayload({ issues: issues.slice(0, MOST_ISSUES) })
        return new Set(unfit.map(({ index }) => index))
      })

    const count = (
      workspaceId: WorkspaceId,
      places: ReadonlySet<number>,
      published: ReadonlyArray<Published>
    ) =>
      deviations.count(
        published
          .filter(({ duplicate }, index) => places.has(index) && !duplicate)
          .map(({ eventType, id }) => ({ workspaceId, eventType, eventId: id }))
      )

    const loaded = Effect.suspend(() => (catalogue.isLoaded() ? Effect.void : catalogue.renew))

    /** Publishes what fits. Without a judged type among them this is `publish` alone. */
    const checked = <A extends ReadonlyArray<Published>, E, R>(
      workspaceId: WorkspaceId,
      connection: string | null,
      batch: ReadonlyArray<NewEvent>,
      pathOf: (index: number) => string,
      publish: Effect.Effect<A, E, R>
    ): Effect.Effect<A, E | InvalidPayload, R> => {
      if (catalogue.isLoaded() && !batch.some(isJudged)) return inLine.behind(connection, publish)
      const judged = Effect.gen(function* () {
        yield* loaded
        const places = yield* judge(workspaceId, batch, pathOf)
        const published = yield* publish
        yield* count(workspaceId, places, published)
        return published
      })
      return inLine.run(connection, judged)
    }

    return { checked } as const
  })
}) {}
