/**
 * Bounds the bytes of request bodies that a process holds at once: those still arriving, and those of requests under way.
 *
 * One caller gets at most a quarter; unauthenticated callers are told apart by address. Beyond the limits a body is refused
 * with 503 and `Retry-After`. Source: spec §7.1.
 */
import type { ServerResponse } from "node:http"

const SHARE = 4

export class BodyBudget {
  private readonly most: number
  private readonly held = new Map<string, number>()
  private all = 0

  constructor(bytes: number) {
    this.most = bytes
  }

  /** False if there is no room. The caller must give back what it takes. */
  take(key: string, bytes: number): boolean {
    const own = (this.held.get(key) ?? 0) + bytes
    if (this.all + bytes > this.most || own > this.most / SHARE) return false
    this.all += bytes
    this.held.set(key, own)
    return true
  }

  giveBack(key: string, bytes: number) {
    const left = (this.held.get(key) ?? 0) - bytes
    this.all -= bytes
    if (left > 0) this.held.set(key, left)
    else this.held.delete(key)
  }
}

/** The bytes that one request holds, until its answer is sent or its connection is closed. */
export class Holding {
  private readonly budget: BodyBudget
  private readonly key: string
  private bytes = 0

  constructor(budget: BodyBudget, key: string, response: ServerResponse) {
    this.budget = budget
    this.key = key
    response.once("close", () => {
      budget.giveBack(key, this.bytes)
      this.bytes = 0
    })
  }

  take(bytes: number) {
    if (!this.budget.take(this.key, bytes)) return false
    this.bytes += bytes
    return true
  }
}
