/** The overview of a workspace. An endpoint's hourly statistics are in `Endpoints.ts`, with their group. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { Statistics } from "@posthorn/capabilities/Statistics"
import { Effect, Layer } from "effect"

export const overviewLive = HttpApiBuilder.group(Api, "overview", (handlers) =>
  Effect.map(Statistics, (statistics) => handlers.handle("getOverview", () => statistics.overview))
).pipe(Layer.provide(Statistics.Default))
