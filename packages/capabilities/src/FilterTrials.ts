/**
 * Tries a filter on what was published. Payloads are judged in small portions; between them, workspaces take turns. A trial ends early
 * once its portions have taken `MOST_MS`. Source: spec §6.3.
 */
import { InvalidRequest } from "@posthorn/domain/Errors"
import { compile, explained } from "@posthorn/domain/filter/Compile"
import { parseFilter } from "@posthorn/domain/filter/Filter"
import type { JsonText } from "@posthorn/domain/JsonText"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { FiltersRepo, type Sized } from "@posthorn/persistence/repositories/FiltersRepo"
import { Duration, Effect, Either, PartitionedSemaphore } from "effect"
import { hiddenFrom } from "./OwnEvents.ts"

export interface Trial {
  readonly filter: JsonText
  readonly eventTypes?: ReadonlyArray<string> | undefined
  readonly payload?: JsonText | undefined
}

const TRIED = 200
/** Bytes of payloads of one portion, if it has more than one event. */
const PORTION = 262_144
const MOST_MS = 5_000

const portionsOf = (events: ReadonlyArray<Sized>) => {
  const portions: Array<Array<Sized>> = []
  let left = 0
  for (const event of events) {
    left -= event.bytes
    if (left < 0) {
      portions.push([])
      left = PORTION - event.bytes
    }
    portions.at(-1)!.push(event)
  }
  return portions
}

const compiled = ({ text }: JsonText) =>
  parseFilter(text).pipe(
    Either.mapBoth({
      onLeft: (issues) =>
        new InvalidRequest({
          issues: issues.map(({ message, path }) => ({ path: `/filter${path}`, message }))
        }),
      onRight: (filter) => ({ program: compile(filter), explained: explained(filter) })
    })
  )

export class FilterTrials extends Effect.Service<FilterTrials>()("@posthorn/capabilities/FilterTrials", {
  dependencies: [FiltersRepo.Default],
  effect: Effect.gen(function* () {
    const filters = yield* FiltersRepo
    const turns = yield* PartitionedSemaphore.make<string>({ permits: 1 })

    const attempt = Effect.fn("FilterTrials.attempt")(function* (trial: Trial) {
      const { permissions, workspaceId } = yield* CurrentPrincipal
      const filter = yield* compiled(trial.filter)
      const inTurn = <A>(read: Effect.Effect<A>) => turns.withPermits(workspaceId, 1)(Effect.timed(read))
      const tried = []
      if (trial.payload !== undefined)
        tried.push(...(yield* inTurn(filters.judgePayload(trial.payload.text, filter)))[1])
      else {
        const hidden = hiddenFrom(permissions)
        let [spent, events] = yield* inTurn(
          filters.newest(workspaceId, trial.eventTypes ?? ["*"], hidden, TRIED)
        )
        for (const portion of portionsOf(events)) {
          if (Duration.toMillis(spent) > MOST_MS) break
          const [took, judged] = yield* inTurn(filters.judge(workspaceId, portion, filter))
          spent = Duration.sum(spent, took)
          tried.push(...judged)
        }
      }
      return {
        examined: tried.length,
        matching: tried.filter(({ failing }) => failing === null).length,
        events: tried.map(({ failing, id }) => {
          const unmet = failing === null ? undefined : filter.explained.conditions[failing - 1]
          return {
            eventId: id,
            matches: failing === null,
            because: unmet === undefined ? null : { path: unmet.path, condition: unmet.condition }
          }
        })
      }
    })

    return { attempt } as const
  })
}) {}
