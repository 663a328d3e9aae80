/** Loaded deliveries until a slot is free. Workspaces take turns; within one, loading order. */

import { Deque } from "./Deque.ts"
import type { Loaded } from "./Dispatched.ts"
import type { Lane, Waiting } from "./Lane.ts"
import type { Workspace } from "./Workspace.ts"

export class Ready {
  /** The workspace whose turn is next comes first. */
  private readonly lines = new Map<Workspace<Lane>, Deque<Loaded>>()
  length = 0

  push(loaded: Loaded): void {
    const { workspace } = loaded.row.lane
    const line = this.lines.get(workspace) ?? new Deque<Loaded>()
    line.push(loaded)
    this.lines.set(workspace, line)
    this.length++
  }

  next(mayStart: (row: Waiting) => boolean): Loaded | undefined {
    for (const [workspace, line] of this.lines) {
      if (!mayStart(line.first!.row)) continue
      const loaded = line.shift()
      this.lines.delete(workspace)
      if (line.length > 0) this.lines.set(workspace, line)
      this.length--
      return loaded
    }
    return undefined
  }

  remove(concerned: (loaded: Loaded) => boolean): ReadonlyArray<Loaded> {
    const all = [...this.lines.values()].flatMap((line) => line.takeAll())
    this.lines.clear()
    this.length = 0
    const removed: Array<Loaded> = []
    for (const loaded of all) {
      if (concerned(loaded)) removed.push(loaded)
      else this.push(loaded)
    }
    return removed
  }
}
