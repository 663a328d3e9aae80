/**
 * How many rows each workspace, and each of its lanes, may have in memory, so that one workspace's backlog never keeps out
 * another's deliveries. Half of memory is shared by the workspaces that hold many rows; the rest is for the others. A
 * workspace's lanes share its part in the same way; with very many lanes that is one row each.
 */
import type { Lane } from "./Lane.ts"
import { Tenant } from "./Tenant.ts"

const LANE_MOST = 1_000

export class Memory {
  private readonly most: number
  private readonly tenants = new Map<string, Tenant<Lane>>()
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

  tenantOf(workspaceId: string): Tenant<Lane> {
    const known = this.tenants.get(workspaceId)
    if (known !== undefined) return known
    const tenant = new Tenant<Lane>(workspaceId)
    this.tenants.set(workspaceId, tenant)
    return tenant
  }

  forget(tenant: Tenant<Lane>): void {
    if (tenant.idle) this.tenants.delete(tenant.workspaceId)
  }

  /** `by` more rows are waiting (or fewer). */
  change(tenant: Tenant<Lane>, by: 1 | -1): void {
    const was = tenant.isLarge
    tenant.waiting += by
    this.waiting += by
    if (was !== tenant.isLarge) this.large += by
  }

  private share(tenant: Tenant<Lane>): number {
    const sharing = this.large + (tenant.isLarge ? 0 : 1)
    return Math.max(1, Math.floor(this.most / 2 / sharing))
  }

  /** How many rows one lane of the workspace may hold. */
  limit(tenant: Tenant<Lane>): number {
    const each = Math.floor(this.share(tenant) / Math.max(1, tenant.lanes.size))
    return Math.min(LANE_MOST, Math.max(1, each))
  }

  /**
   * Whether the workspace may hold more rows: up to one and a half times its share, since older lanes may hold more than newer
   * ones.
   */
  hasRoom(tenant: Tenant<Lane>): boolean {
    return this.waiting < this.most && tenant.waiting < this.share(tenant) * 1.5
  }

  /** How many rows it keeps when each lane is cut to its present limit. */
  fairOf(tenant: Tenant<Lane>): number {
    return tenant.lanes.size * this.limit(tenant)
  }

  /** For a full memory: how many rows each workspace may keep. */
  equalShares(): ReadonlyArray<{ readonly tenant: Tenant<Lane>; readonly keep: number }> {
    const holding = [...this.tenants.values()].filter(({ waiting }) => waiting > 0)
    const keep = Math.max(1, Math.floor(this.most / 2 / holding.length))
    return holding.map((tenant) => ({ tenant, keep }))
  }
}
