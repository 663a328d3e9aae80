/**
 * Where attempts go: the one thing the engine knows about HTTP. Live it is Dispatch.ts; in the simulation, a model.
 */

import { allowsAddress, allowsHost } from "@posthorn/domain/AllowedTargets"
import { isRefusedAddress } from "@posthorn/domain/IpAddress"
import type { Observation } from "@posthorn/domain/Verdict"
import { Context, Effect, Layer } from "effect"
import * as Dispatch from "./Dispatch.ts"
import { WorkerConfig } from "./WorkerConfig.ts"

export class Receiver extends Context.Tag("@posthorn/worker/Receiver")<
  Receiver,
  {
    readonly send: (request: {
      readonly url: string
      readonly headers: Readonly<Record<string, string>>
      readonly body: string
    }) => Effect.Effect<Observation>
    /** What every request carries besides its own headers. */
    readonly fixedHeaders: Readonly<Record<string, string>>
  }
>() {}

export const layer = Layer.scoped(
  Receiver,
  Effect.flatMap(WorkerConfig, ({ allowedTargets, bodyTimeoutMs, requestTimeoutMs, version }) =>
    Dispatch.make({
      userAgent: `Posthorn/${version}`,
      requestTimeoutMs,
      bodyTimeoutMs,
      refuses: (address, port, hostname) =>
        isRefusedAddress(address) &&
        !allowsAddress(allowedTargets, address, port) &&
        !allowsHost(allowedTargets, hostname, port)
    })
  )
)
