/** Traces: everything from a publish to its last attempt, found by one id. Source: spec §4.6. */
import { TraceNotFound } from "@posthorn/domain/Errors"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { TracesRepo } from "@posthorn/persistence/repositories/TracesRepo"
import { Effect } from "effect"

export class Traces extends Effect.Service<Traces>()("@posthorn/capabilities/Traces", {
  dependencies: [TracesRepo.Default],
  effect: Effect.gen(function* () {
    const traces = yield* TracesRepo

    const get = Effect.fn("Traces.get")(function* (id: string) {
      const principal = yield* CurrentPrincipal
      const found = yield* traces.find(principal, id)
      if (found.items.length === 0) return yield* new TraceNotFound()
      return { id, ...found }
    })

    return { get } as const
  })
}) {}
