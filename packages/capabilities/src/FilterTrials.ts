/** Tries a filter on what was published, or on one payload. Source: spec §6.3. */
import type { JsonText } from "@posthorn/domain/JsonText"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { Effect } from "effect"
import { FilterJudge, filterIn } from "./FilterJudge.ts"
import { hiddenFrom } from "./OwnEvents.ts"

export interface Trial {
  readonly filter: JsonText
  readonly eventTypes?: ReadonlyArray<string> | undefined
  readonly payload?: JsonText | undefined
}

const TRIED = 200

export class FilterTrials extends Effect.Service<FilterTrials>()("@posthorn/capabilities/FilterTrials", {
  dependencies: [FilterJudge.Default],
  effect: Effect.gen(function* () {
    const judges = yield* FilterJudge

    const attempt = Effect.fn("FilterTrials.attempt")(function* (trial: Trial) {
      const { permissions } = yield* CurrentPrincipal
      const filter = yield* filterIn(trial.filter)
      const judge = yield* judges.begin
      const { eventTypes = ["*"], payload } = trial
      const compiled = judge.compiled(filter)
      const events =
        payload === undefined
          ? yield* compiled.judge(yield* judge.newest(eventTypes, hiddenFrom(permissions), TRIED))
          : yield* compiled.judgePayload(payload.text)
      return {
        examined: events.length,
        matching: events.filter(({ matches }) => matches).length,
        events
      }
    })

    return { attempt } as const
  })
}) {}
