/**
 * One delivery in memory, stage by stage. Each stage has the members that exist by then: `Waiting → Loaded → Sent → Settled`
 * (`Waiting` stands in Lane.ts). Lanes.ts draws the way, and is all that moves a delivery along it.
 */
import type { Content } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import type { Waiting } from "./Lane.ts"

/** What it needs to be sent is in memory, as it stood in the database `at` this time. */
export interface Loaded {
  readonly row: Waiting
  readonly content: Content
  readonly at: number
}

/** It has a slot. */
export type Sent = Pick<Loaded, "row" | "content">

/** Its attempt is over, and has an observation. Payloads may be large, so the content is let go of. */
export interface Settled {
  readonly row: Waiting
  readonly observed: Observed
  readonly traceId: string
  /** Somebody holds rows of its endpoint: other endpoints do not wait until it is recorded. */
  aside: boolean
}

/** Its attempt is over without an observation; `posted`: something of it may have reached the receiver. */
export interface Unobserved {
  readonly row: Waiting
  readonly posted: boolean
}
