/** What a world consists of, and what can be committed in it. */
import type { PolicyInForce, RateLimit } from "@posthorn/domain/DeliveryPolicy"
import type { VersionedPolicy } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import type { Outgoing } from "../../src/attempt/Sender.ts"

export const SHARDS = 4

export type Status = "pending" | "delivered" | "failed" | "failed_permanent" | "dead_lettered"

export interface Endpoint {
  readonly id: string
  readonly workspaceId: string
  readonly shard: number
  url: string
  enabled: boolean
  generation: number
  streak: number
  failingSince: number
  policy: VersionedPolicy
  secret: Uint8Array
  previous: { readonly secret: Uint8Array; readonly until: number } | null
  deleted: boolean
}

export interface Delivery {
  readonly id: string
  readonly endpointId: string
  status: Status
  attempts: number
  nextAttemptAt: number | null
  lastStatus: number | null
}

/** The committed facts, in order. */
export type Fact =
  | {
      readonly kind: "published"
      readonly at: number
      readonly deliveryId: string
      readonly endpointId: string
      /** A test send. */
      readonly test?: boolean
    }
  | {
      readonly kind: "recorded"
      readonly at: number
      readonly observed: Observed
      /** The policy that held then; undefined when it was the default. */
      readonly policy?: PolicyInForce
      readonly streak: number | null
      readonly disables: boolean
    }
  | { readonly kind: "dead_lettered"; readonly at: number; readonly deliveryId: string }
  | {
      readonly kind: "enabled" | "disabled" | "deleted" | "rotated"
      readonly at: number
      readonly endpointId: string
    }

/** From then on an endpoint has this rate. */
export interface RateChange {
  readonly endpointId: string
  readonly at: number
  readonly limit: RateLimit | null
}

export interface Post {
  /** The same attempt, sent again because a kept-alive connection broke. */
  readonly again?: boolean
  readonly at: number
  readonly worker: number
  readonly request: Pick<Outgoing, "url" | "headers" | "body">
  readonly deliveryId: string
  /** By how many milliseconds the sender's clock was off; undefined when unknown. */
  readonly clockOff?: number
  /** Whether the sender's clock was set to another time. */
  readonly wrongClock?: boolean
  /** Whether the sender believed it owned its shards; undefined when unknown. */
  readonly sure?: boolean
}

export interface Secret {
  readonly endpointId: string
  readonly sealed: Uint8Array
  readonly key: Buffer
}

/** A worker was notified that an endpoint is repaired. */
export interface EndpointChange {
  readonly endpointId: string
  readonly worker: number
  readonly at: number
}

export interface Answered {
  readonly deliveryId: string
  readonly worker: number
  readonly at: number
  readonly status: number | null
  /** It never reached the endpoint, and counts for nothing. */
  readonly uncounted?: boolean
}
