/**
 * Whether this process should get traffic: it can serve, and is not about to stop.
 *
 * When stopping, it first reports not ready and keeps serving for `drainSeconds`, so that a load balancer notices before the
 * process has stopped. Each answer in that time closes its connection, so that the next request goes elsewhere.
 */
import { Health } from "@posthorn/capabilities/Health"
import { Duration, Effect } from "effect"
import { ServerConfig } from "../ServerConfig.ts"

export class Readiness extends Effect.Service<Readiness>()("@posthorn/server/Readiness", {
  dependencies: [Health.Default],
  effect: Effect.gen(function* () {
    const health = yield* Health
    const { drainSeconds } = yield* ServerConfig
    let draining = false

    /** Null if ready, otherwise the reason. */
    const unready = Effect.suspend(() => (draining ? Effect.succeed("draining" as const) : health.unready))

    /** Reports not ready from now on, and returns when the drain time is over. */
    const drain = Effect.suspend(() => {
      draining = true
      return Effect.sleep(Duration.seconds(drainSeconds))
    })

    return { unready, database: health.database, drain, isDraining: () => draining } as const
  })
}) {}
