/** What is known of a delivery from `loaded` on, stage by stage (Stages.ts). */
import type { Observation } from "@posthorn/domain/Verdict"
import type { Content } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import type { Waiting } from "./Lane.ts"

/** Its content is in memory, as read from the database at the time `at`. */
export interface Loaded {
  readonly row: Waiting
  readonly content: Content
  readonly at: number
}

/** It occupies a slot. */
export type Sent = Pick<Loaded, "row" | "content">

/** Its attempt is over and has an observation. The content is released, because payloads may be large. */
export interface Settled {
  readonly row: Waiting
  readonly seen: Observation
  /** As `seen` was judged last. */
  observed: Observed
  readonly traceId: string
  /** A row of its endpoint is locked. Other endpoints do not wait for its record. */
  aside: boolean
}

/** Its attempt ended without an observation. `posted`: part of the request may have reached the receiver. */
export interface Unobserved {
  readonly row: Waiting
  readonly posted: boolean
}
