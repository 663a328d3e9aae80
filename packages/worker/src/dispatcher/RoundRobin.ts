/**
 * Workspaces take turns, and within a workspace its lanes, so a thousand busy endpoints share one turn. Quick, untried and slow
 * lanes have lines of their own: a slow lane without a slot blocks no quick one. Constant time.
 */
import { Deque } from "./Deque.ts"
import type { Lane } from "./Lane.ts"

const kindOf = ({ isSlow }: Lane) => (isSlow === null ? 1 : isSlow ? 2 : 0)

class Line {
  private readonly kinds = [new Deque<Lane>(), new Deque<Lane>(), new Deque<Lane>()]
  private turn = 0
  length = 0

  push(lane: Lane): void {
    this.kinds[kindOf(lane)]!.push(lane)
    this.length++
  }

  next(admitted: (lane: Lane) => boolean): Lane | undefined {
    this.turn++
    for (let n = 0; n < this.kinds.length; n++) {
      const lane = this.nextOf((this.turn + n) % this.kinds.length, admitted)
      if (lane !== undefined) return lane
    }
    return undefined
  }

  private nextOf(kind: number, admitted: (lane: Lane) => boolean): Lane | undefined {
    const lanes = this.kinds[kind]!
    for (let first = lanes.first; first !== undefined; first = lanes.first) {
      if (admitted(first)) {
        this.length--
        return lanes.shift()
      }
      // The lane's requests have changed pace since it was put in line.
      if (kindOf(first) === kind) return undefined
      this.kinds[kindOf(first)]!.push(lanes.shift()!)
    }
    return undefined
  }
}

export class RoundRobin {
  private readonly workspaces = new Deque<string>()
  private readonly lines = new Map<string, Line>()
  private readonly waiting = new Set<Lane>()

  offer(lane: Lane): void {
    if (this.waiting.has(lane)) return
    this.waiting.add(lane)
    this.lineOf(lane.workspaceId).push(lane)
  }

  private lineOf(workspaceId: string): Line {
    const known = this.lines.get(workspaceId)
    if (known !== undefined) return known
    const line = new Line()
    this.lines.set(workspaceId, line)
    this.workspaces.push(workspaceId)
    return line
  }

  /** The caller checks whether the lane can still use its turn. */
  next(admitted: (lane: Lane) => boolean): Lane | undefined {
    for (let left = this.workspaces.length; left > 0; left--) {
      const workspaceId = this.workspaces.shift()!
      const line = this.lines.get(workspaceId)!
      const lane = line.next(admitted)
      if (line.length === 0) this.lines.delete(workspaceId)
      else this.workspaces.push(workspaceId)
      if (lane === undefined) continue
      this.waiting.delete(lane)
      return lane
    }
    return undefined
  }
}
