/**
 * How much of memory each workspace, and each of its lanes, may fill: so that what waits for one workspace never keeps out
 * what waits for another. Half of memory is shared by the workspaces that hold many rows; the rest is for whoever comes
 * next. A workspace's lanes share what it has in the same way; with very many lanes that is one row for each.
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

  /** How many more rows there is room for. */
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

  /** One row more, or less, waits. */
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

  /** How many rows one lane of it may hold. */
  limit(tenant: Tenant<Lane>): number {
    const each = Math.floor(this.share(tenant) / Math.max(1, tenant.lanes.size))
    return Math.min(LANE_MOST, Math.max(1, each))
  }

  /** Whether it may hold more: half as much again as its share, as lanes that were there first may hold more than later ones. */
  hasRoom(tenant: Tenant<Lane>): boolean {
    return this.waiting < this.most && tenant.waiting < this.share(tenant) * 1.5
  }

  /** What it keeps when its lanes hold no more than they would get now. */
  fairOf(tenant: Tenant<Lane>): number {
    return tenant.lanes.size * this.limit(tenant)
  }

  /** When there is no room at all: what each workspace may keep, whatever it has. */
  equalShares(): ReadonlyArray<{ readonly tenant: Tenant<Lane>; readonly keep: number }> {
    const holding = [...this.tenants.values()].filter(({ waiting }) => waiting > 0)
    const keep = Math.max(1, Math.floor(this.most / 2 / holding.length))
    return holding.map((tenant) => ({ tenant, keep }))
  }
}
