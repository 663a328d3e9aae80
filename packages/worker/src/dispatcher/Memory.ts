/**
 * How many rows each workspace, and each of its lanes, may have in memory, so that one workspace's backlog never keeps out
 * another's deliveries. Half of memory is shared by the workspaces that hold many rows; the rest is for the others. A
 * workspace's lanes share its part in the same way; with very many lanes that is one row each.
 */
import type { Lane } from "./Lane.ts"
import { Workspace } from "./Workspace.ts"

const LANE_MOST = 1_000

export class Memory {
  private readonly most: number
  private readonly workspaces = new Map<string, Workspace<Lane>>()
  /** Workspaces that hold many rows. */
  private large = 0
  waiting = 0

  constructor(most: number) {
    this.most = most
  }

  /** How many more rows fit. */
  get room(): number {
    return Math.max(0, this.most - this.waiting)
  }

  workspaceOf(workspaceId: string): Workspace<Lane> {
    const known = this.workspaces.get(workspaceId)
    if (known !== undefined) return known
    const workspace = new Workspace<Lane>(workspaceId)
    this.workspaces.set(workspaceId, workspace)
    return workspace
  }

  forget(workspace: Workspace<Lane>): void {
    if (workspace.idle) this.workspaces.delete(workspace.workspaceId)
  }

  /** `by` more rows are waiting (or fewer). */
  change(workspace: Workspace<Lane>, by: 1 | -1): void {
    const was = workspace.isLarge
    workspace.waiting += by
    this.waiting += by
    if (was !== workspace.isLarge) this.large += by
  }

  private share(workspace: Workspace<Lane>): number {
    const sharing = this.large + (workspace.isLarge ? 0 : 1)
    return Math.max(1, Math.floor(this.most / 2 / sharing))
  }

  /** How many rows one lane of the workspace may hold. */
  limit(workspace: Workspace<Lane>): number {
    const each = Math.floor(this.share(workspace) / Math.max(1, workspace.lanes.size))
    return Math.min(LANE_MOST, Math.max(1, each))
  }

  /**
   * Whether the workspace may hold more rows: up to one and a half times its share, since older lanes may hold more than newer
   * ones.
   */
  hasRoom(workspace: Workspace<Lane>): boolean {
    return this.waiting < this.most && workspace.waiting < this.share(workspace) * 1.5
  }

  /** How many rows it keeps when each lane is cut to its present limit. */
  fairOf(workspace: Workspace<Lane>): number {
    return workspace.lanes.size * this.limit(workspace)
  }

  /** For a full memory: how many rows each workspace may keep. */
  equalShares(): ReadonlyArray<{ readonly workspace: Workspace<Lane>; readonly keep: number }> {
    const holding = [...this.workspaces.values()].filter(({ waiting }) => waiting > 0)
    const keep = Math.max(1, Math.floor(this.most / 2 / holding.length))
    return holding.map((workspace) => ({ workspace, keep }))
  }
}
