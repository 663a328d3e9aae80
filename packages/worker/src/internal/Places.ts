/**
 * The slots that are taken, by workspace. A workspace leaves twice as many free as it has itself, up to a tenth of all: so
 * some are always within reach of those that have few in flight, whatever hangs elsewhere, and one that is alone has nine
 * tenths of them.
 */
const SHARE_LEFT = 10
const LEFT_FOR_EACH = 2

/** How many slots one workspace at most has to leave to the others. */
export const reserveOf = (slots: number): number => Math.floor(slots / SHARE_LEFT)

/** Whether a workspace that has `taken` may take one more of those that are free. */
export const mayTake = (free: number, taken: number, reserve: number): boolean =>
  free > Math.min(reserve, LEFT_FOR_EACH * taken)

export class Places {
  private readonly all: number
  private readonly reserve: number
  private readonly by = new Map<string, number>()
  taken = 0

  constructor(all: number) {
    this.all = all
    this.reserve = reserveOf(all)
  }

  get free(): number {
    return this.all - this.taken
  }

  readonly open = (workspaceId: string): boolean =>
    mayTake(this.free, this.by.get(workspaceId) ?? 0, this.reserve)

  /** Whether it has so few that it may take one more although others must not. */
  isModest(workspaceId: string): boolean {
    return LEFT_FOR_EACH * (this.by.get(workspaceId) ?? 0) < this.reserve
  }

  take(workspaceId: string): void {
    this.taken++
    this.by.set(workspaceId, (this.by.get(workspaceId) ?? 0) + 1)
  }

  release(workspaceId: string): void {
    this.taken--
    const left = this.by.get(workspaceId)! - 1
    if (left === 0) this.by.delete(workspaceId)
    else this.by.set(workspaceId, left)
  }
}
