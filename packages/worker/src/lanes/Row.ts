/**
 * One delivery in memory, and how far it is. Lanes.ts has the picture, and is all that changes a state.
 *
 * It carries its lane and its tenure, so that nobody has to look them up; what the deliveries of an endpoint share, they
 * share in memory.
 */
import type { LaneRef, Loaded, Waiting } from "@posthorn/persistence/Queue"
import type { Observed } from "@posthorn/persistence/Records"
import type { Tenure } from "./Tenure.ts"

export type State = "waiting" | "loading" | "ready" | "sent" | "settled" | "recorded"

export class RowOf<L extends LaneRef> implements Waiting {
  readonly lane: L
  readonly tenure: Tenure
  readonly deliveryId: string
  readonly due: number
  readonly attempts: number
  readonly takeUps: number
  state: State = "waiting"
  /** What it needs to be sent; let go of when the attempt is over, as payloads may be large. */
  loaded: Loaded | null = null
  loadedAt = 0
  traceId = ""
  /** Something of it may have reached the receiver. */
  posted = false
  /** What came of it; null when it ended without an observation. */
  observed: Observed | null = null
  /** Keeps its place in its lane until it is recorded. */
  keepsPlace = false
  /** Nobody else waits until it can be recorded. */
  aside = false

  constructor(lane: L, tenure: Tenure, { attempts, deliveryId, due, takeUps }: Waiting) {
    this.lane = lane
    this.tenure = tenure
    this.deliveryId = deliveryId
    this.due = due
    this.attempts = attempts
    this.takeUps = takeUps
  }

  load(loaded: Loaded, now: number): void {
    this.loaded = loaded
    this.loadedAt = now
    this.traceId = loaded.traceId
  }

  get workspaceId(): string {
    return this.lane.workspaceId
  }

  get endpointId(): string {
    return this.lane.endpointId
  }

  get shard(): number {
    return this.tenure.shard
  }
}
