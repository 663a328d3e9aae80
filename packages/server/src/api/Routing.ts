/** Who gets an event, and why not; what a filter would let through. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { TryFilter } from "@posthorn/api-contract/Routing"
import { strictRequest, withDefaults } from "@posthorn/api-contract/Shapes"
import { FilterTrials, type Trial } from "@posthorn/capabilities/FilterTrials"
import { Routing } from "@posthorn/capabilities/Routing"
import { Effect, Layer } from "effect"
import { exactBody } from "./ExactBody.ts"
import { respond } from "./Responses.ts"

const trialBody = exactBody("tryFilter", strictRequest(TryFilter))

export const routingLive = HttpApiBuilder.group(Api, "routing", (handlers) =>
  Effect.map(Effect.all([FilterTrials, Routing]), ([trials, routing]) =>
    handlers
      .handle("explainEventRouting", ({ path, urlParams }) =>
        Effect.map(routing.ofEvent(path.eventId, withDefaults(urlParams)), respond("explainEventRouting"))
      )
      .handleRaw("tryFilter", ({ request }) =>
        Effect.flatMap(trialBody(request), (trial) =>
          Effect.map(trials.attempt(trial as Trial), respond("tryFilter"))
        )
      )
  )
).pipe(Layer.provide([FilterTrials.Default, Routing.Default]))
