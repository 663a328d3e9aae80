/**
 * Sends attempts: the only thing the engine knows about HTTP. In production it is @posthorn/egress; in the simulation, a model.
 */
import { allowsAddress, allowsHost } from "@posthorn/domain/AllowedTargets"
import { isRefusedAddress } from "@posthorn/domain/IpAddress"
import type { Observation } from "@posthorn/domain/Verdict"
import * as Dispatch from "@posthorn/egress/Dispatch"
import type { Resolve } from "@posthorn/egress/Names"
import type { NoTurn } from "@posthorn/egress/Observation"
import { systemNames } from "@posthorn/egress/SystemNames"
import { Context, Effect, Layer } from "effect"
import { WorkerConfig } from "./WorkerConfig.ts"

export interface Outgoing {
  readonly workspaceId: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Until the head of the answer. */
  readonly requestTimeoutMs: number
}

export class Receiver extends Context.Tag("@posthorn/worker/Receiver")<
  Receiver,
  {
    /**
     * Null only if the receiver is closed before there is an observation. `no_turn` means that nothing was sent: try again
     * later. Interrupting it gives the request up.
     */
    readonly send: (request: Outgoing) => Effect.Effect<Observation | NoTurn | null>
    /** Headers that every request carries besides its own. */
    readonly fixedHeaders: Readonly<Record<string, string>>
  }
>() {}

/** How names are resolved. Tests use their own name server. */
export class NameSource extends Context.Reference<NameSource>()("@posthorn/worker/NameSource", {
  defaultValue: (): Resolve => systemNames()
}) {}

export const layer = Layer.scoped(
  Receiver,
  Effect.gen(function* () {
    const { allowedTargets, bodyTimeoutMs, proxy, version } = yield* WorkerConfig
    const clock = yield* Effect.clock
    const resolve = yield* NameSource
    const { fixedHeaders, send } = yield* Effect.acquireRelease(
      Effect.sync(() =>
        Dispatch.open({
          userAgent: `Posthorn/${version}`,
          bodyTimeoutMs,
          clock,
          proxy,
          resolve,
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
