/** What one workspace has in memory and in flight. */

/** A workspace with at most this many rows does not count when memory is shared: there is room for hundreds of them. */
const FEW = 64

export class Workspace<L> {
  readonly workspaceId: string
  /** Its lanes, without suspended ones. */
  readonly lanes = new Set<L>()
  /** How many lanes it has, suspended ones included. */
  members = 0
  /** Waiting rows in memory. */
  waiting = 0
  /** Deliveries that are picked and whose attempt is not over. */
  inFlight = 0
  /** How many of these occupy a slot. */
  sending = 0
  /** How many of those in flight are slow (SlotShares.ts). */
  slow = 0
  /** Lanes that run low while the database has more rows for them, in the order of refilling. */
  readonly needRefill = new Set<L>()

  constructor(workspaceId: string) {
    this.workspaceId = workspaceId
  }

  get isLarge(): boolean {
    return this.waiting > FEW
  }

  get idle(): boolean {
    return this.members === 0 && this.inFlight === 0
  }
}
