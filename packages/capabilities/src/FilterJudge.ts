/**
 * Judges filters on events that are stored, for calls that explain. Payloads are judged in small portions; between them, workspaces take
 * turns. A call that has taken `MOST_MS` judges no further portion. Source: spec §6.3.
 */
import { InvalidRequest } from "@posthorn/domain/Errors"
import { compile, explained } from "@posthorn/domain/filter/Compile"
import { type Filter, parseFilter } from "@posthorn/domain/filter/Filter"
import type { JsonText } from "@posthorn/domain/JsonText"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { FiltersRepo, type Judged, type Sized } from "@posthorn/persistence/repositories/FiltersRepo"
import { Duration, Effect, Either, PartitionedSemaphore } from "effect"

/** Of a portion: events, whose filter may be expensive whatever their size, and bytes of payloads if there are several. */
const PORTION = 16
const PORTION_BYTES = 262_144
const MOST_MS = 5_000

const portionsOf = (events: ReadonlyArray<Sized>) => {
  const portions: Array<Array<Sized>> = []
  let left = 0
  for (const event of events) {
    left -= event.bytes
    if (left < 0 || (portions.at(-1)?.length ?? PORTION) === PORTION) {
      portions.push([])
      left = PORTION_BYTES - event.bytes
    }
    portions.at(-1)!.push(event)
  }
  return portions
}

/** The filter in the member `filter` of a request. */
export const filterIn = ({ text }: JsonText) =>
  Either.mapLeft(
    parseFilter(text),
    (issues) =>
      new InvalidRequest({
        issues: issues.map(({ message, path }) => ({ path: `/filter${path}`, message }))
      })
  )

export class FilterJudge extends Effect.Service<FilterJudge>()("@posthorn/capabilities/FilterJudge", {
  dependencies: [FiltersRepo.Default],
  effect: Effect.gen(function* () {
    const filters = yield* FiltersRepo
    const turns = yield* PartitionedSemaphore.make<string>({ permits: 1 })

    /** What one call asks; everything it asks counts. */
    const begin = Effect.map(CurrentPrincipal, (principal) => {
      const { workspaceId } = principal
      let spent = 0

      const inTurn = <A>(read: Effect.Effect<A>) =>
        Effect.map(turns.withPermits(workspaceId, 1)(Effect.timed(read)), ([took, value]) => {
          spent += Duration.toMillis(took)
          return value
        })

      const newest = (patterns: ReadonlyArray<string>, hidden: ReadonlyArray<string>, most: number) =>
        inTurn(filters.newest(principal, patterns, hidden, most))

      const compiled = (filter: Filter) => {
        const { conditions, path } = explained(filter)
        const compiled = { program: compile(filter), path, conditions: conditions.length }
        const explain = ({ failing, id }: Judged) => {
          if (failing === null) return { eventId: id, matches: true, because: null }
          const { condition, path } = conditions[failing - 1]!
          return { eventId: id, matches: false, because: { path, condition } }
        }

        /** Of the events that are still there, until all is spent. */
        const judge = Effect.fnUntraced(function* (events: ReadonlyArray<Sized>) {
          const judged: Array<Judged> = []
          for (const portion of portionsOf(events)) {
            if (spent > MOST_MS) break
            judged.push(...(yield* inTurn(filters.judge(workspaceId, portion, compiled))))
          }
          return judged.map(explain)
        })

        const judgePayload = (payload: string) =>
          Effect.map(inTurn(filters.judgePayload(payload, compiled)), (judged) => judged.map(explain))

        return { judge, judgePayload }
      }

      return { compiled, newest } as const
    })

    return { begin } as const
  })
}) {}
