/** Random delivery policies, with waits that end within a world. */
import type { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import type { Chance } from "./VirtualTime.ts"

/** Each member is left out now and then. */
export const policyOf = (chance: Chance): DeliveryPolicy => {
  const some = <K extends string, A>(name: K, ...values: ReadonlyArray<A>) =>
    chance.happens(0.6) ? ({ [name]: chance.oneOf(values) } as { readonly [N in K]?: A }) : {}
  return {
    ...some<"retries", DeliveryPolicy["retries"] & {}>(
      "retries",
      { kind: "standard" },
      { kind: "none" },
      { kind: "waits", seconds: [1] },
      { kind: "waits", seconds: [3, 1, 2] }
    ),
    ...some("jitter", 0, 0.1, 0.5),
    ...some("honorRetryAfter", true, true, false),
    ...some<"rateLimit", DeliveryPolicy["rateLimit"] & {}>(
      "rateLimit",
      { requests: 1, perSeconds: 1 },
      { requests: 3, perSeconds: 2 },
      { requests: 2, perSeconds: 8 },
      { requests: 200, perSeconds: 2 }
    ),
    ...some<"disableAfter", DeliveryPolicy["disableAfter"] & {}>(
      "disableAfter",
      { kind: "failures", count: 4 },
      { kind: "failures", count: 20 },
      { kind: "failing_for", seconds: 6 },
      { kind: "never" }
    ),
    ...some<"onGone", "fail" | "disable">("onGone", "fail", "disable")
  }
}
