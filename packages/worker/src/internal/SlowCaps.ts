/** How little the endpoints deserve that lost their slots by timeouts, remembered when nothing of them waits. */
import { FIRST_CAP, type Lane } from "./Lane.ts"

const MOST = 10_000

export class SlowCaps {
  private readonly caps = new Map<string, number>()

  /** The cap with which a lane begins. */
  first(endpointId: string, limit: number): number {
    return Math.min(this.caps.get(endpointId) ?? FIRST_CAP, limit)
  }

  remember({ cap, endpointId }: Lane): void {
    this.caps.delete(endpointId)
    if (cap >= FIRST_CAP) return
    this.caps.set(endpointId, cap)
    if (this.caps.size > MOST) this.caps.delete(this.caps.keys().next().value!)
  }
}
