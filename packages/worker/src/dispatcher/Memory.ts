/**
 * Shares memory, so that one workspace's backlog never keeps out another's deliveries. Workspaces with many rows share half of
 * it; the rest is for the others. A workspace divides its share among its lanes.
 */
import type { Lane } from "./Lane.ts"
import { Workspace } from "./Workspace.ts"

const LANE_MOST = 1_000

export class Memory {
  private readonly most: number
  private readonly workspaces = new Map<string, Workspace<Lane>>()
  private large = 0
  waiting = 0

  constructor(most: number) {
    this.most = most
  }

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

  limit(workspace: Workspace<Lane>): number {
    const each = Math.floor(this.share(workspace) / Math.max(1, workspace.lanes.size))
    return Math.min(LANE_MOST, Math.max(1, each))
  }

  /** A workspace may have one and a half times its share, since older lanes may hold more than newer ones. */
  hasRoom(workspace: Workspace<Lane>): boolean {
    return this.waiting < this.most && workspace.waiting < this.share(workspace) * 1.5
  }

  fairOf(workspace: Workspace<Lane>): number {
    return workspace.lanes.size * this.limit(workspace)
  }

  equalShares(): ReadonlyArray<{ readonly workspace: Workspace<Lane>; readonly keep: number }> {
    const holding = [...this.workspaces.values()].filter(({ waiting }) => waiting > 0)
    const keep = Math.max(1, Math.floor(this.most / 2 / holding.length))
    return holding.map((workspace) => ({ workspace, keep }))
  }
}
