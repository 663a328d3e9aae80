/** What the laws read: a history, whether it was lived in a simulated world or by real processes. */
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import type { Answered, Delivery, Endpoint, Fact, Mended, Post, RateChange, Secret } from "./Facts.ts"

export interface Judged {
  readonly model: {
    /** In the order of the commits. */
    readonly facts: ReadonlyArray<Fact>
    /** What there is at the end. */
    readonly deliveries: ReadonlyMap<string, Pick<Delivery, "id" | "endpointId" | "status" | "attempts">>
    readonly queue: ReadonlyMap<string, Pick<DueRow, "deliveryId" | "endpointId">>
    /** Deleted ones too. */
    readonly endpoints: ReadonlyMap<string, Pick<Endpoint, "enabled" | "deleted">>
    readonly notified: ReadonlyArray<string>
  }
  readonly posts: ReadonlyArray<Post>
  readonly answered: ReadonlyArray<Answered>
  readonly mended?: ReadonlyArray<Mended>
  /** The rates that endpoints have had, in the order of the changes. */
  readonly rates?: ReadonlyArray<RateChange>
  /** Whether its sender had lost the shard and could not know it. */
  readonly isStray?: (post: Post) => boolean
  readonly secrets: ReadonlyArray<Pick<Secret, "endpointId" | "key">>
  /** The delivery that kills whoever sends it. */
  readonly poison: string | null
  readonly retryDelayMs: number
  /** After how long a worker gives a request up, where receivers may hear of that late. */
  readonly requestTimeoutMs?: (endpointId: string) => number
  /** How long a previous secret signs too. */
  readonly graceMs: number
  /** How long before this moment what a post uses may have been read: the answer takes its time, then it waits for a slot. */
  readonly reachMs: (at: number) => number
  /** How many more posts than recorded attempts what went wrong may explain. */
  readonly repeatsOf: (deliveryId: string) => number
  /** Deliveries of which an answer may not have been seen, because its worker stood still. */
  readonly unseen?: ReadonlySet<string>
  /** How long it may take until a worker knows what a receiver did, or what was changed in the database. */
  readonly lagMs?: (at: number) => number
  /** How often a worker lost the delivery's shard without giving it back while the delivery waited; when that is known. */
  readonly holdersLost?: (deliveryId: string) => number
  /** Until when a delivery has to be sent for the first time, where everything is in order but the hearing. */
  readonly promptUntil?: ((deliveryId: string) => number) | undefined
  /** The same, where everything is in order but another workspace's receivers. */
  readonly fairUntil?: ((deliveryId: string) => number) | undefined
}

/** Gives the sentences of its violations; none means that it held. */
export type Law = (world: Judged) => ReadonlyArray<string>
