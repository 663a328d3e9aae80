/** What is loaded, until a slot is free: workspaces in turn, each one's in the order in which it was loaded. */
import type { Loaded, Waiting } from "@posthorn/persistence/Queue"
import { Fifo } from "./Fifo.ts"

export interface ReadyRow {
  readonly row: Waiting
  readonly loaded: Loaded
  readonly loadedAt: number
}

export class Ready {
  private readonly lines = new Map<string, Fifo<ReadyRow>>()
  private readonly workspaces = new Fifo<string>()
  length = 0

  push(one: ReadyRow): void {
    const { workspaceId } = one.row
    let line = this.lines.get(workspaceId)
    if (line === undefined) {
      line = new Fifo()
      this.lines.set(workspaceId, line)
      this.workspaces.push(workspaceId)
    }
    line.push(one)
    this.length++
  }

  /** The next one of a workspace that may take a slot. */
  next(open: (workspaceId: string) => boolean): ReadyRow | undefined {
    for (let left = this.workspaces.length; left > 0; left--) {
      const workspaceId = this.workspaces.shift()!
      if (!open(workspaceId)) {
        this.workspaces.push(workspaceId)
        continue
      }
      const line = this.lines.get(workspaceId)!
      const one = line.shift()!
      if (line.length === 0) this.lines.delete(workspaceId)
      else this.workspaces.push(workspaceId)
      this.length--
      return one
    }
    return undefined
  }

  /** Takes out whatever is asked for. */
  remove(concerned: (one: ReadyRow) => boolean): ReadonlyArray<ReadyRow> {
    const removed: Array<ReadyRow> = []
    const kept: Array<ReadyRow> = []
    for (const line of this.lines.values())
      for (const one of line.takeAll()) (concerned(one) ? removed : kept).push(one)
    if (removed.length === 0) {
      for (const one of kept) this.lines.get(one.row.workspaceId)!.push(one)
      return removed
    }
    this.lines.clear()
    this.workspaces.clear()
    this.length = 0
    for (const one of kept) this.push(one)
    return removed
  }
}
