/**
 * Sends attempts: the only thing the engine knows about HTTP. In production it is @posthorn/egress; in the simulation, a model.
 */
import type { Observation } from "@posthorn/domain/Verdict"
import { ANSWER_LIMIT_BYTES, type RequestToken, requestToken } from "@posthorn/egress/ClientCredentials"
import * as Dispatch from "@posthorn/egress/Dispatch"
import { guard } from "@posthorn/egress/Guard"
import type { Resolve } from "@posthorn/egress/Names"
import type { NoTurn } from "@posthorn/egress/Observation"
import type { ClientIdentity } from "@posthorn/egress/Origins"
import { systemNames } from "@posthorn/egress/SystemNames"
import { Context, Effect, Layer } from "effect"
import { WorkerConfig } from "../WorkerConfig.ts"

export interface Outgoing {
  readonly workspaceId: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Until the head of the answer. */
  readonly requestTimeoutMs: number
  readonly client?: ClientIdentity | undefined
}

export class Sender extends Context.Tag("@posthorn/worker/Sender")<
  Sender,
  {
    /**
     * Null only if the sender is closed before there is an observation. `no_turn` means that nothing was sent: try again
     * later. A request cannot be interrupted.
     */
    readonly send: (request: Outgoing) => Effect.Effect<Observation | NoTurn | null>
    /** Asks a token endpoint. What it sends goes the same way as `send`, but never through a slot. */
    readonly requestToken: RequestToken
    /** Headers that every request carries besides its own. */
    readonly fixedHeaders: Readonly<Record<string, string>>
  }
>() {}

/** How names are resolved. Tests use their own name server. */
export class NameSource extends Context.Reference<NameSource>()("@posthorn/worker/NameSource", {
  defaultValue: (): Resolve => systemNames()
}) {}

export const layer = Layer.scoped(
  Sender,
  Effect.gen(function* () {
    const { allowedTargets, bodyTimeoutMs, proxy, requestTimeoutMs, version } = yield* WorkerConfig
    const clock = yield* Effect.clock
    const resolve = yield* NameSource
    const open = (bodyLimitBytes?: number) =>
      Effect.acquireRelease(
        Effect.sync(() =>
          Dispatch.open({
            userAgent: `Posthorn/${version}`,
            requestTimeoutMs,
            bodyTimeoutMs,
            bodyLimitBytes,
            clock,
            proxy,
            resolve,
            refuses: guard(allowedTargets)
          })
        ),
        (dispatcher) => Effect.sync(dispatcher.close)
      )
    const { fixedHeaders, send } = yield* open()
    const tokens = yield* open(ANSWER_LIMIT_BYTES)
    return {
      fixedHeaders,
      requestToken: requestToken(tokens.send),
      send: (request) =>
        Effect.async((resume) => {
          send(request, (seen) => resume(Effect.succeed(seen)))
        })
    }
  })
)
