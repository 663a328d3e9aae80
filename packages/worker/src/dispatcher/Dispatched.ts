/** What is known of a delivery from `loaded` on, stage by stage (Stages.ts). */
import type { Observation } from "@posthorn/domain/Verdict"
import type { Content } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import type { Waiting } from "./Lane.ts"

export interface Loaded {
  readonly row: Waiting
  readonly content: Content
  readonly at: number
}

export type Sent = Pick<Loaded, "row" | "content">

/** The content is released: payloads may be large. */
export interface Settled {
  readonly row: Waiting
  readonly seen: Observation
  observed: Observed
  readonly traceId: string
  readonly retry: boolean
  /** A row of the endpoint is locked: other endpoints do not wait for this record. */
  aside: boolean
}

/** `posted`: part of the request may have reached the receiver. */
export interface Unobserved {
  readonly row: Waiting
  readonly posted: boolean
}
