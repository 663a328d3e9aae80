/** A workspace at a glance. An endpoint hour by hour is in `Endpoints.ts`, whose group publishes it. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { Statistics } from "@posthorn/capabilities/Statistics"
import { Effect, Layer } from "effect"

export const statisticsLive = HttpApiBuilder.group(Api, "overview", (handlers) =>
  Effect.map(Statistics, (statistics) => handlers.handle("getOverview", () => statistics.overview))
).pipe(Layer.provide(Statistics.Default))
