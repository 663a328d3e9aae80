/**
 * Turns at something costly, bounded for each workspace, so that none uses it up.
 *
 * A workspace has at most `most` turns at once. Who comes later waits in the order of arrival, `waitMs` at most.
 */
export interface Turn {
  /** Called at once, or later. It lasts until `end`. */
  readonly begin: () => void
  /** It has waited for too long; `begin` is not called. */
  readonly late: () => void
}

interface Line {
  running: number
  readonly waiting: Map<Turn, NodeJS.Timeout>
}

export class Turns {
  private readonly lines = new Map<string, Line>()
  private readonly most: number
  private readonly waitMs: number

  constructor(most: number, waitMs: number) {
    this.most = most
    this.waitMs = waitMs
  }

  take(workspaceId: string, turn: Turn): void {
    const line = this.lines.get(workspaceId) ?? { running: 0, waiting: new Map() }
    this.lines.set(workspaceId, line)
    if (line.running < this.most) {
      line.running++
      turn.begin()
      return
    }
    const late = () => {
      line.waiting.delete(turn)
      turn.late()
    }
    line.waiting.set(turn, setTimeout(late, this.waitMs))
  }

  /** The turn is over, or is no longer waited for. Call it once for each `take`, unless it was late. */
  end(workspaceId: string, turn: Turn): void {
    const line = this.lines.get(workspaceId)!
    const timer = line.waiting.get(turn)
    if (timer !== undefined) {
      clearTimeout(timer)
      line.waiting.delete(turn)
      return
    }
    line.running--
    const [next] = line.waiting
    if (next !== undefined) {
      line.waiting.delete(next[0])
      clearTimeout(next[1])
      line.running++
      next[0].begin()
    } else if (line.running === 0) this.lines.delete(workspaceId)
  }
}
