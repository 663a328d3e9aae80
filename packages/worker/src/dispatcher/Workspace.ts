/** What one workspace has in memory and in flight. */

/** Up to this many rows are not counted when memory is shared. */
const FEW = 64

export class Workspace<L> {
  readonly workspaceId: string
  readonly lanes = new Set<L>()
  waiting = 0
  inFlight = 0
  sending = 0
  slow = 0
  /** In the order of refilling. */
  readonly needRefill = new Set<L>()

  constructor(workspaceId: string) {
    this.workspaceId = workspaceId
  }

  get isLarge(): boolean {
    return this.waiting > FEW
  }

  get idle(): boolean {
    return this.lanes.size === 0 && this.inFlight === 0
  }
}
