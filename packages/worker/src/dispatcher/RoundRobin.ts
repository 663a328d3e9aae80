/**
 * Whose turn it is: workspaces in turn, and within a workspace its lanes in turn. So a workspace with a thousand busy
 * endpoints gets the same share as one with a single endpoint. A lane is in line at most once. Constant time.
 */
import { Deque } from "./Deque.ts"

export interface Turner {
  readonly workspaceId: string
}

export class RoundRobin<L extends Turner> {
  private readonly workspaces = new Deque<string>()
  private readonly lanes = new Map<string, Deque<L>>()
  private readonly waiting = new Set<L>()

  offer(lane: L): void {
    if (this.waiting.has(lane)) return
    this.waiting.add(lane)
    this.lineOf(lane.workspaceId).push(lane)
  }

  private lineOf(workspaceId: string): Deque<L> {
    const known = this.lanes.get(workspaceId)
    if (known !== undefined) return known
    const line = new Deque<L>()
    this.lanes.set(workspaceId, line)
    this.workspaces.push(workspaceId)
    return line
  }

  /**
   * Removes and returns the next lane of a workspace that is `admitted`. The caller checks whether the lane can still use its
   * turn.
   */
  next(admitted: (lane: L) => boolean): L | undefined {
    for (let left = this.workspaces.length; left > 0; left--) {
      const workspaceId = this.workspaces.shift()!
      const line = this.lanes.get(workspaceId)!
      if (!admitted(line.first!)) {
        this.workspaces.push(workspaceId)
        continue
      }
      const lane = line.shift()!
      if (line.length === 0) this.lanes.delete(workspaceId)
      else this.workspaces.push(workspaceId)
      this.waiting.delete(lane)
      return lane
    }
    return undefined
  }
}
