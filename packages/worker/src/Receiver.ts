/**
 * Where attempts go: the one thing the engine knows about HTTP. Live it is http/Dispatch.ts; in the simulation, a model.
 */
import { allowsAddress, allowsHost } from "@posthorn/domain/AllowedTargets"
import { isRefusedAddress } from "@posthorn/domain/IpAddress"
import type { Observation } from "@posthorn/domain/Verdict"
import { Context, Effect, Layer } from "effect"
import * as Dispatch from "./http/Dispatch.ts"
import { WorkerConfig } from "./WorkerConfig.ts"

export interface Outgoing {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export class Receiver extends Context.Tag("@posthorn/worker/Receiver")<
  Receiver,
  {
    /** Null only when it closes before there is an observation. Interrupted, the request is given up. */
    readonly send: (request: Outgoing) => Effect.Effect<Observation | null>
    /** What every request carries besides its own headers. */
    readonly fixedHeaders: Readonly<Record<string, string>>
  }
>() {}

export const layer = Layer.scoped(
  Receiver,
  Effect.gen(function* () {
    const { allowedTargets, bodyTimeoutMs, requestTimeoutMs, version } = yield* WorkerConfig
    const clock = yield* Effect.clock
    const { fixedHeaders, send } = yield* Effect.acquireRelease(
      Effect.sync(() =>
        Dispatch.open({
          userAgent: `Posthorn/${version}`,
          requestTimeoutMs,
          bodyTimeoutMs,
          clock,
          refuses: (address, port, hostname) =>
            isRefusedAddress(address) &&
            !allowsAddress(allowedTargets, address, port) &&
            !allowsHost(allowedTargets, hostname, port)
        })
      ),
      (dispatcher) => Effect.sync(dispatcher.close)
    )
    return {
      fixedHeaders,
      send: (request) =>
        Effect.async((resume) => {
          const giveUp = send(request, (seen) => resume(Effect.succeed(seen)))
          return Effect.sync(giveUp)
        })
    }
  })
)
