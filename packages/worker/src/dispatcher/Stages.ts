/**
 * The stages of a delivery in memory, and what it holds in each of them. `Dispatcher.move` alone changes a stage, and frees what
 * the next stage does not hold.
 *
 *    Poller                    Loader                     Slots                   Recorder
 *    add │ refill         pick │    loaded, makeReady     │ start     settle      │ recorded
 *        ▼                     ▼         ▼                ▼             ▼         ▼
 *     waiting ────────────► loading ──► loaded ─────────► sent ──────► settled ──► out
 *        ▲                     │         │                │
 *        └────── requeue ──────┴─────────┴────────────────┘
 */
export type Stage = "waiting" | "loading" | "loaded" | "sent" | "settled" | "out"

interface Holdings {
  /** A row of the workspace's share (Memory.ts). */
  readonly memory: boolean
  readonly inFlight: boolean
  readonly slot: boolean
  readonly lanePermit: boolean
  /** A permit of the rate limit, until the attempt starts (SlidingWindow.ts). */
  readonly startPermit: boolean
  /** In quarantine (Quarantine.ts). */
  readonly turn: boolean
  /** Tracked, so that reading it again never sends it again (TrackedIds.ts). */
  readonly id: boolean
}

const holding = (...names: ReadonlyArray<keyof Holdings>): Holdings => ({
  memory: names.includes("memory"),
  inFlight: names.includes("inFlight"),
  slot: names.includes("slot"),
  lanePermit: names.includes("lanePermit"),
  startPermit: names.includes("startPermit"),
  turn: names.includes("turn"),
  id: names.includes("id")
})

// biome-ignore format: a table
export const HOLDS: Readonly<Record<Stage, Holdings>> = {
  waiting: holding("memory",                                                    "id"),
  loading: holding("inFlight",         "lanePermit", "startPermit", "turn",     "id"),
  loaded:  holding("inFlight",         "lanePermit", "startPermit", "turn",     "id"),
  sent:    holding("inFlight", "slot", "lanePermit", "startPermit", "turn",     "id"),
  settled: holding(                    "lanePermit",                "turn",     "id"),
  out:     holding()
}

export type Reason =
  | "onward"
  /** Its record cannot disable the endpoint, so its lane permit is free before the record. */
  | "delivered"
  /** Read again after a pause. */
  | "postpone"
  /** Not sent: it goes back to the front of its lane. */
  | "requeue"
  /** A later read may bring it again. */
  | "release"
  /** Its shard is lost. If this worker takes the shard again, its first read skips the tracked id, so the Poller rewinds. */
  | "revoke"
  /** It leaves memory unsent: any read may bring it again, also one under way. */
  | "drop"
