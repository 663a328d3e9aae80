/** The lanes in memory, by endpoint. RecentHealth.ts keeps a forgotten lane's state. */
import type { Backlog } from "./Backlog.ts"
import { FIRST_LIMIT, Lane, type LaneKey } from "./Lane.ts"
import type { Memory } from "./Memory.ts"
import { RecentHealth } from "./RecentHealth.ts"

export class Lanes {
  readonly recentHealth = new RecentHealth()
  private readonly all = new Map<string, Lane>()
  private readonly byShard = new Map<number, Set<Lane>>()
  private readonly memory: Memory
  private readonly backlog: Backlog
  private readonly firstLimit: number

  constructor(memory: Memory, backlog: Backlog, endpointConcurrency: number) {
    this.memory = memory
    this.backlog = backlog
    this.firstLimit = Math.min(FIRST_LIMIT, endpointConcurrency)
  }

  get size(): number {
    return this.all.size
  }

  get = (endpointId: string): Lane | undefined => this.all.get(endpointId)

  values(): Iterable<Lane> {
    return this.all.values()
  }

  ofShard(shard: number): ReadonlyArray<Lane> {
    return [...(this.byShard.get(shard) ?? [])]
  }

  of(row: LaneKey): Lane {
    const known = this.all.get(row.endpointId)
    if (known !== undefined) return known
    const workspace = this.memory.workspaceOf(row.workspaceId)
    const lane = new Lane(row, workspace, this.firstLimit)
    this.recentHealth.recall(lane)
    this.all.set(row.endpointId, lane)
    this.byShard.set(lane.shard, (this.byShard.get(lane.shard) ?? new Set()).add(lane))
    workspace.lanes.add(lane)
    return lane
  }

  readonly forgetIdle = (lane: Lane): void => {
    if (!lane.idle || !this.all.delete(lane.endpointId)) return
    this.byShard.get(lane.shard)!.delete(lane)
    lane.workspace.lanes.delete(lane)
    this.memory.forget(lane.workspace)
    this.backlog.forget(lane)
    this.recentHealth.remember(lane)
  }
}
