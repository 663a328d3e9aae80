/** What one workspace has in memory and in flight. */

/** So few rows do not count when memory is shared out: there is room for hundreds of workspaces that have no more. */
const FEW = 64

export class Tenant<L> {
  readonly workspaceId: string
  /** Its lanes, but those that are parked. */
  readonly lanes = new Set<L>()
  /** How many lanes it has, with those. */
  members = 0
  /** Rows in memory that wait. */
  waiting = 0
  /** Picked, until the attempt is over. */
  inFlight = 0
  /** How many slots it has: a part of those. */
  sending = 0
  /** Lanes that run low while the database has more for them, in the order in which they are to be refilled. */
  readonly thin = new Set<L>()

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
