/** Everything that carries one trace id. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { Traces } from "@posthorn/capabilities/Traces"
import { Effect, Layer } from "effect"
import { respond } from "./Responses.ts"

export const tracesLive = HttpApiBuilder.group(Api, "traces", (handlers) =>
  Effect.map(Traces, (traces) =>
    handlers.handle("getTrace", ({ path }) => Effect.map(traces.get(path.traceId), respond("getTrace")))
  )
).pipe(Layer.provide(Traces.Default))
