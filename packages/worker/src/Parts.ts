/** What the engine's loops are made of: each takes what it needs. */
import type { Queue } from "@posthorn/persistence/Queue"
import type { Observed, Records } from "@posthorn/persistence/Records"
import type { Clock } from "effect"
import type { Prepare } from "./Attempt.ts"
import type { Lanes } from "./Lanes.ts"
import type { Row } from "./lanes/Lane.ts"
import type { Ownership } from "./Ownership.ts"
import type { Receiver } from "./Receiver.ts"
import type { TuningValues } from "./Tuning.ts"

export interface Parts {
  readonly lanes: Lanes
  readonly queue: Queue["Type"]
  readonly records: Records["Type"]
  readonly receiver: Receiver["Type"]
  readonly ownership: Ownership["Type"]
  readonly prepare: Prepare
  /** Takes each attempt when it is stored; undefined when nobody takes spans. */
  readonly trace: ((row: Row, observed: Observed) => void) | undefined
  readonly slots: number
  readonly retryDelayMs: number
  readonly tuning: TuningValues
  readonly clock: Clock.Clock
}

/** Those of the Reader. */
export type ReaderParts = Pick<Parts, "queue" | "lanes" | "tuning" | "clock">
