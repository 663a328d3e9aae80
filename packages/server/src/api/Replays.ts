/** Replay jobs: sending again what an endpoint did not receive. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { Replays } from "@posthorn/capabilities/Replays"
import { Effect, Layer } from "effect"
import { IdempotentExecution } from "./IdempotentExecution.ts"

export const replaysLive = HttpApiBuilder.group(Api, "replays", (handlers) =>
  Effect.gen(function* () {
    const replays = yield* Replays
    const { idempotent } = yield* IdempotentExecution
    return handlers
      .handle("startReplay", (request) =>
        idempotent(
          "startReplay",
          request,
          replays.start(request.path.endpointId, withDefaults(request.payload))
        )
      )
      .handle("listReplays", ({ urlParams }) => replays.list(withDefaults(urlParams)))
      .handle("getReplay", ({ path }) => replays.get(path.replayId))
      .handle("cancelReplay", ({ path }) => replays.cancel(path.replayId))
  })
).pipe(Layer.provide([Replays.Default, IdempotentExecution.Default]))
