/** Who gets an event, and why not. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { Routing } from "@posthorn/capabilities/Routing"
import { Effect, Layer } from "effect"
import { respond } from "./Responses.ts"

export const routingLive = HttpApiBuilder.group(Api, "routing", (handlers) =>
  Effect.map(Routing, (routing) =>
    handlers.handle("explainEventRouting", ({ path, urlParams }) =>
      Effect.map(routing.ofEvent(path.eventId, withDefaults(urlParams)), respond("explainEventRouting"))
    )
  )
).pipe(Layer.provide(Routing.Default))
