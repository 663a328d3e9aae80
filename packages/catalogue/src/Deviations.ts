/**
 * Counts payloads that did not fit, by workspace, type and day. Those of one moment share a statement, and a process has one under way:
 * so publishers do not wait for each other's rows. Best effort: what cannot be counted is logged, and its publish stands.
 */
import { type Deviation, EventTypesRepo } from "@posthorn/persistence/repositories/EventTypesRepo"
import { Effect } from "effect"

export class Deviations extends Effect.Service<Deviations>()("@posthorn/catalogue/Deviations", {
  dependencies: [EventTypesRepo.Default],
  effect: Effect.gen(function* () {
    const types = yield* EventTypesRepo
    const writing = yield* Effect.makeSemaphore(1)
    let waiting: Array<Deviation> = []

    const write = Effect.suspend(() => {
      const all = waiting
      waiting = []
      return all.length === 0 ? Effect.void : Effect.asVoid(types.addDeviations(all))
    }).pipe(
      Effect.catchAllCause((cause) => Effect.logWarning("Deviating payloads could not be counted", cause)),
      writing.withPermits(1)
    )

    /** Ends once they are counted. */
    const count = (found: ReadonlyArray<Deviation>) =>
      Effect.suspend(() => {
        if (found.length === 0) return Effect.void
        waiting.push(...found)
        return write
      })

    return { count } as const
  })
}) {}
