/**
 * The delivery policy of an endpoint: when a delivery is tried again, how fast deliveries go out, and when the endpoint is
 * disabled. A member that the endpoint omits comes from its workspace, and one that the workspace omits from the installation.
 * With nothing set, deliveries behave exactly as spec §3.1 and §8 say.
 *
 * Pure. `Verdict` judges attempts by an effective policy.
 */
import { Schema } from "effect"
import { kind } from "./internal/Literals.ts"

/** Retries of `standard` after the first attempt, so attempt 7 is the last. Source: spec §8. */
export const MAX_RETRIES = 6

/** Consecutive failures at which an endpoint is disabled when nothing else is set. Source: spec §2.1. */
export const FAILURE_LIMIT = 20

/** Units of the retry delay (30 s) that `standard` waits after attempt `ordinal` (from 1) failed: 1, 2, … at most 6. */
export const retryUnits = (ordinal: number): number => Math.min(ordinal, MAX_RETRIES)

const wholeBetween = (least: number, most: number, description: string, example: number) =>
  Schema.Number.pipe(Schema.int(), Schema.between(least, most)).annotations({
    description,
    examples: [example],
    message: () => `Expected a whole number from ${least} to ${most}`
  })

const WAITS_MOST = 20
const WAIT_MOST_SECONDS = 604_800
/** Most seconds of all waits of one delivery together: 30 days. */
const WAITS_TOGETHER_SECONDS = 2_592_000

const sum = (numbers: ReadonlyArray<number>) => numbers.reduce((all, one) => all + one, 0)

const Waits = Schema.Array(wholeBetween(1, WAIT_MOST_SECONDS, "Seconds.", 300))
  .pipe(
    Schema.minItems(1),
    Schema.maxItems(WAITS_MOST),
    Schema.filter((seconds) => sum(seconds) <= WAITS_TOGETHER_SECONDS, { jsonSchema: {} })
  )
  .annotations({
    description:
      "Seconds before each retry: 1 to 20 whole numbers, each 1 to 604,800, together at most 2,592,000.",
    examples: [[5, 300, 1_800]],
    message: () => "Expected 1 to 20 whole numbers, each 1 to 604,800, together at most 2,592,000"
  })

export const Retries = Schema.Union(
  Schema.Struct({ kind: kind("standard", "6 retries within about 10 minutes.") }),
  Schema.Struct({ kind: kind("patient", "9 retries within about 3 days.") }),
  Schema.Struct({ kind: kind("waits", "A retry after each of these waits."), seconds: Waits }),
  Schema.Struct({ kind: kind("none", "No retry.") })
).annotations({
  identifier: "Retries",
  description: "When a delivery is tried again, and how often.",
  examples: [{ kind: "patient" }]
})
export type Retries = typeof Retries.Type

export const DisableAfter = Schema.Union(
  Schema.Struct({
    kind: kind("failures", "After so many failed attempts in a row."),
    count: wholeBetween(1, 1_000, "Failed attempts in a row.", 20)
  }),
  Schema.Struct({
    kind: kind(
      "failing_for",
      "By the failed attempt that is recorded so long or longer after the first of the present streak, not before the fifth."
    ),
    seconds: wholeBetween(3_600, 2_592_000, "Seconds since the first failure in a row.", 86_400)
  }),
  Schema.Struct({ kind: kind("never", "Not by failures.") })
).annotations({
  identifier: "DisableAfter",
  description: "When failures disable the endpoint.",
  examples: [{ kind: "failing_for", seconds: 86_400 }]
})
export type DisableAfter = typeof DisableAfter.Type

/** The longest window of a rate, in seconds. */
const LONGEST_TIMEOUT_SECONDS = 60
export const RATE_LONGEST_SECONDS = 3_600

export const RateLimit = Schema.Struct({
  requests: wholeBetween(1, 10_000, "Attempts.", 100),
  perSeconds: wholeBetween(1, RATE_LONGEST_SECONDS, "Seconds.", 60)
}).annotations({
  identifier: "RateLimit",
  description:
    "In no window of `perSeconds` are more than `requests` attempts begun. What is beyond that waits, and is no failure.",
  examples: [{ requests: 100, perSeconds: 60 }]
})
export type RateLimit = typeof RateLimit.Type

const members = {
  retries: Retries,
  jitter: Schema.Number.pipe(Schema.between(0, 0.5)).annotations({
    description: "Each wait is drawn between itself and (1 + jitter) times itself.",
    examples: [0.1],
    message: () => "Expected a number from 0 to 0.5"
  }),
  honorRetryAfter: Schema.Boolean.annotations({
    description:
      "Whether the next attempt is not before what `Retry-After` of a retryable answer says, at most 24 hours.",
    examples: [true]
  }),
  timeoutSeconds: wholeBetween(
    1,
    LONGEST_TIMEOUT_SECONDS,
    "Seconds until the head of the answer has to be there.",
    10
  ),
  rateLimit: Schema.NullOr(RateLimit).annotations({
    description: "The most attempts in a time, first ones, retries and test sends together; null: no limit.",
    examples: [{ requests: 100, perSeconds: 60 }]
  }),
  disableAfter: DisableAfter,
  onGone: Schema.Literal("fail", "disable").annotations({
    description: "`fail`: 410 is a 4xx like others. `disable`: it disables the endpoint at once.",
    examples: ["disable"]
  })
}

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

export const DeliveryPolicy = Schema.Struct({
  retries: optional(members.retries),
  jitter: optional(members.jitter),
  honorRetryAfter: optional(members.honorRetryAfter),
  timeoutSeconds: optional(members.timeoutSeconds),
  rateLimit: optional(members.rateLimit),
  disableAfter: optional(members.disableAfter),
  onGone: optional(members.onGone)
}).annotations({
  identifier: "DeliveryPolicy",
  description:
    "When to try again, how fast, and when to stop. What is left out is the workspace's, or the default.",
  parseOptions: { onExcessProperty: "error" }
})
export type DeliveryPolicy = typeof DeliveryPolicy.Type

export const EffectivePolicy = Schema.Struct({
  ...members,
  // The installation's own may be any number.
  timeoutSeconds: Schema.Number.annotations({
    description: "Seconds until the head of the answer has to be there.",
    examples: [10]
  }),
  givesUpAfterSeconds: Schema.Number.annotations({
    description: "All waits of a delivery together, without jitter.",
    examples: [630]
  })
}).annotations({
  identifier: "EffectivePolicy",
  description: "The delivery policy that holds for an endpoint: every member, resolved."
})
export type EffectivePolicy = typeof EffectivePolicy.Type

/** The settings of an installation that policies rest on. */
export interface PolicyDefaults {
  /** The unit of `standard`. */
  readonly retryDelayMs: number
  readonly requestTimeoutMs: number
  /** Most that a policy's `timeoutSeconds` gets. Defaults to 60,000. */
  readonly mostTimeoutMs?: number | undefined
  /** A second of `patient` and `waits`, in milliseconds. Defaults to 1,000; tests shorten it. */
  readonly secondMs?: number
}

/** Seconds, by the example of Standard Webhooks: about 3 days and 3 hours in all. */
const PATIENT = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400]

/** Milliseconds to wait after each attempt that may be tried again, without jitter: one fewer than there are attempts. */
export const waitsOf = (
  retries: Retries,
  { retryDelayMs, secondMs = 1_000 }: Pick<PolicyDefaults, "retryDelayMs" | "secondMs">
): ReadonlyArray<number> => {
  switch (retries.kind) {
    case "standard":
      return Array.from({ length: MAX_RETRIES }, (_, n) => retryUnits(n + 1) * retryDelayMs)
    case "patient":
      return PATIENT.map((seconds) => seconds * secondMs)
    case "waits":
      return retries.seconds.map((seconds) => seconds * secondMs)
    case "none":
      return []
  }
}

/** An effective policy as the worker goes by it. */
export interface PolicyInForce extends EffectivePolicy {
  readonly waitsMs: ReadonlyArray<number>
}

export const inForce = (
  endpoint: DeliveryPolicy | null,
  workspace: DeliveryPolicy | null,
  defaults: PolicyDefaults
): PolicyInForce => {
  const policy = resolve(endpoint, workspace, defaults)
  return { ...policy, waitsMs: waitsOf(policy.retries, defaults) }
}

/** The policy that holds for an endpoint. */
export const resolve = (
  endpoint: DeliveryPolicy | null,
  workspace: DeliveryPolicy | null,
  defaults: PolicyDefaults
): EffectivePolicy => {
  const policy = {
    retries: { kind: "standard" as const },
    jitter: 0,
    honorRetryAfter: false,
    timeoutSeconds: defaults.requestTimeoutMs / 1_000,
    rateLimit: null,
    disableAfter: { kind: "failures" as const, count: FAILURE_LIMIT },
    onGone: "fail" as const,
    ...workspace,
    ...endpoint
  }
  const mostMs = Math.max(
    defaults.requestTimeoutMs,
    defaults.mostTimeoutMs ?? LONGEST_TIMEOUT_SECONDS * 1_000
  )
  const timeoutSeconds = Math.min(policy.timeoutSeconds, mostMs / 1_000)
  return { ...policy, timeoutSeconds, givesUpAfterSeconds: sum(waitsOf(policy.retries, defaults)) / 1_000 }
}
