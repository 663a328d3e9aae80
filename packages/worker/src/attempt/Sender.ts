/** The only thing the engine knows of HTTP: @posthorn/egress, or a model in the simulation. */
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
    /** Uninterruptible. Null only if the sender closes first. `no_turn`: nothing was sent, try again. */
    readonly send: (request: Outgoing) => Effect.Effect<Observation | NoTurn | null>
    /** Takes no slot. */
    readonly requestToken: RequestToken
    readonly fixedHeaders: Readonly<Record<string, string>>
  }
>() {}

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
