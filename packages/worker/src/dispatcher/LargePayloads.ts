/**
 * Large payloads, which a load leaves out. Until its payload is read, a delivery is in the stage `loading`. Then it is loaded again,
 * because its endpoint may have changed meanwhile; a payload never does.
 */
import type { Content, Found } from "@posthorn/persistence/engine/Queue"
import { LRUCache } from "lru-cache"
import type { Waiting } from "./Lane.ts"

/** In characters. Beyond it the oldest payload is read again, if its delivery is still to be sent. */
const MOST_KEPT = 8 * 1_048_576

export class LargePayloads {
  private readonly kept = new LRUCache<string, string>({
    maxSize: MOST_KEPT,
    sizeCalculation: ({ length }) => Math.max(1, length)
  })
  private readonly unread = new Set<Waiting>()

  get next(): Waiting | undefined {
    return this.unread.values().next().value
  }

  isUnread(row: Waiting): boolean {
    return this.unread.has(row)
  }

  add(row: Waiting): void {
    this.unread.add(row)
  }

  /** Null for a payload that was not read. */
  read(row: Waiting, payload: string | null): void {
    this.unread.delete(row)
    if (payload !== null) this.kept.set(row.deliveryId, payload)
  }

  /** Undefined while the payload is missing. */
  complete(row: Waiting, found: Found): Content | null | undefined {
    if (found === null || hasPayload(found)) return found
    const payload = this.kept.get(row.deliveryId)
    this.kept.delete(row.deliveryId)
    return payload === undefined ? undefined : { ...found, payload }
  }
}

const hasPayload = (found: NonNullable<Found>): found is Content => found.payload !== null
