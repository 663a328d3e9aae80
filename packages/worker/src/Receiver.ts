/**
 * Where attempts go: the one thing the engine knows about HTTP. Live it is http/Dispatch.ts; in the simulation, a model.
 *
 * A call with a callback, not an Effect: a fiber for each post cost 40 us of CPU (fiber, fiber set, garbage), more than
 * the post itself (measured 2026-11-21). The engine wraps what surrounds it, once per group.
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
    /** Calls `done` once, later; with null only when it closes before there is an observation. */
    readonly send: (request: Outgoing, done: (seen: Observation | null) => void) => void
    /** What every request carries besides its own headers. */
    readonly fixedHeaders: Readonly<Record<string, string>>
  }
>() {}

export const layer = Layer.scoped(
  Receiver,
  Effect.flatMap(WorkerConfig, ({ allowedTargets, bodyTimeoutMs, requestTimeoutMs, version }) =>
    Effect.acquireRelease(
      Effect.sync(() =>
        Dispatch.open({
          userAgent: `Posthorn/${version}`,
          requestTimeoutMs,
          bodyTimeoutMs,
          refuses: (address, port, hostname) =>
            isRefusedAddress(address) &&
            !allowsAddress(allowedTargets, address, port) &&
            !allowsHost(allowedTargets, hostname, port)
        })
      ),
      (dispatcher) => Effect.sync(dispatcher.close)
    )
  )
)
