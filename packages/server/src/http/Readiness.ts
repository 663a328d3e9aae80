/**
 * Whether this process wants traffic: it can serve, and it is not about to stop.
 *
 * On the way out it says no first and goes on serving for `drainSeconds`, so that a load balancer that asks regularly sends
 * nothing to a process that has stopped. Each answer of that time ends its connection: the next request goes elsewhere.
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

    /** Null, or why not. */
    const unready = Effect.suspend(() => (draining ? Effect.succeed("draining" as const) : health.unready))

    /** Says no from now on, and returns when the time to drain is over. */
    const drain = Effect.suspend(() => {
      draining = true
      return Effect.sleep(Duration.seconds(drainSeconds))
    })

    return { unready, drain, isDraining: () => draining } as const
  })
}) {}
