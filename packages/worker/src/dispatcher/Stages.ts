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
  /** A row of its workspace's share of memory (Memory.ts). */
  readonly memory: boolean
  /** It counts as in flight. */
  readonly inFlight: boolean
  /** A slot (SlotShares.ts). */
  readonly slot: boolean
  /** One of its lane's permits (Lane.ts). */
  readonly lanePermit: boolean
  /** A permit of its endpoint's rate limit, until its attempt starts (SlidingWindow.ts). */
  readonly startPermit: boolean
  /** Its turn in quarantine (Quarantine.ts). */
  readonly turn: boolean
  /** Its id is tracked, so that reading it again never sends it again (TrackedIds.ts). */
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

/** Why a delivery changes its stage. What it frees follows from the stages; a reason says what else happens. */
export type Reason =
  /** Its next step. */
  | "onward"
  /** Delivered: its record cannot disable the endpoint, so its lane permit is free before it is recorded. */
  | "delivered"
  /** It cannot be sent now, and is read again after a pause. It holds no lane permit meanwhile. */
  | "postpone"
  /** It was not sent after all, and goes back to the front of its lane. */
  | "requeue"
  /** This worker no longer needs it; a later read may bring it again. */
  | "release"
  /**
   * Its shard is lost: the next owner reads it. If that is this worker again, its first read skipped the row, because its id
   * was still tracked. So the Poller rewinds to it.
   */
  | "revoke"
  /** It leaves memory unsent, for others or with its shard: any read may bring it again, also one that is under way. */
  | "drop"
