/** What is loaded, until a slot is free: workspaces in turn, each one's in the order in which it was loaded. */
import { Fifo } from "./Fifo.ts"
import type { Lane, Row } from "./Lane.ts"
import type { Tenant } from "./Tenant.ts"

export class Ready {
  /** Those that have something. */
  private readonly tenants = new Fifo<Tenant<Lane>>()
  length = 0

  push(row: Row): void {
    const { tenant } = row.lane
    if (tenant.ready.length === 0) this.tenants.push(tenant)
    tenant.ready.push(row)
    this.length++
  }

  /** The next one of a workspace that may take a slot. */
  next(open: (tenant: Tenant<Lane>) => boolean): Row | undefined {
    for (let left = this.tenants.length; left > 0; left--) {
      const tenant = this.tenants.shift()!
      if (!open(tenant)) {
        this.tenants.push(tenant)
        continue
      }
      const row = tenant.ready.shift()!
      if (tenant.ready.length > 0) this.tenants.push(tenant)
      this.length--
      return row
    }
    return undefined
  }

  /** Takes out whatever is asked for. */
  remove(concerned: (row: Row) => boolean): ReadonlyArray<Row> {
    const removed: Array<Row> = []
    const kept: Array<Row> = []
    for (const tenant of this.tenants.takeAll())
      for (const row of tenant.ready.takeAll()) (concerned(row) ? removed : kept).push(row)
    this.length = 0
    for (const row of kept) this.push(row)
    return removed
  }
}
