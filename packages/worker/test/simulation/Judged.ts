/** What the laws read: the history of a simulated world or of real processes. */
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import type { Answered, Delivery, Endpoint, EndpointChange, Fact, Post, RateChange, Secret } from "./Facts.ts"

export interface Judged {
  readonly model: {
    /** In the order of the commits. */
    readonly facts: ReadonlyArray<Fact>
    /** The state at the end. */
    readonly deliveries: ReadonlyMap<string, Pick<Delivery, "id" | "endpointId" | "status" | "attempts">>
    readonly queue: ReadonlyMap<string, Pick<DueRow, "deliveryId" | "endpointId">>
    /** Including deleted ones. */
    readonly endpoints: ReadonlyMap<string, Pick<Endpoint, "enabled" | "deleted">>
    readonly notified: ReadonlyArray<string>
  }
  readonly posts: ReadonlyArray<Post>
  readonly answered: ReadonlyArray<Answered>
  readonly endpointChanges?: ReadonlyArray<EndpointChange>
  /** The rates that endpoints have had, in the order of the changes. */
  readonly rates?: ReadonlyArray<RateChange>
  /** When the attempts of each endpoint began, in order, where this is known better than by their posts. */
  readonly begins?: ReadonlyMap<string, ReadonlyArray<number>>
  /** Whether its sender had lost the shard and could not know it. */
  readonly isStray?: (post: Post) => boolean
  readonly secrets: ReadonlyArray<Pick<Secret, "endpointId" | "key">>
  /** The delivery that kills every worker that sends it. */
  readonly poison: string | null
  readonly retryDelayMs: number
  /** How long a worker waits for an answer, where receivers may notice its end late. */
  readonly requestTimeoutMs?: (endpointId: string) => number
  /** How long a previous secret also signs. */
  readonly graceMs: number
  /** How long before a post its data may have been read: the answer takes time, then the delivery waits for a slot. */
  readonly reachMs: (at: number) => number
  /** How many posts beyond the recorded attempts the faults may explain. */
  readonly repeatsOf: (deliveryId: string) => number
  /** Deliveries whose answer may have been missed, because their worker was frozen. */
  readonly unseen?: ReadonlySet<string>
  /** The longest time until a worker knows what a receiver did, or what was changed in the database. */
  readonly lagMs?: (at: number) => number
  /** How often a worker lost the delivery's shard without giving it back while the delivery waited, if known. */
  readonly holdersLost?: (deliveryId: string) => number
  /** The deadline of a delivery's first attempt in worlds where only notifications are not heard. */
  readonly promptUntil?: ((deliveryId: string) => number) | undefined
  /** The same in worlds where only another workspace's receivers hang. */
  readonly fairUntil?: ((deliveryId: string) => number) | undefined
}

/** Gives the violations as sentences; none means that the law held. */
export type Law = (world: Judged) => ReadonlyArray<string>
