/** Who is calling, and what the caller may do. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { Callers } from "@posthorn/capabilities/Callers"
import { Effect, Layer } from "effect"

export const callerLive = HttpApiBuilder.group(Api, "caller", (handlers) =>
  Effect.map(Callers, (callers) => handlers.handle("getCaller", () => callers.describe))
).pipe(Layer.provide(Callers.Default))
