/**
 * How many bytes of bodies a process holds at once: those that are still coming, and those of requests under way.
 *
 * At most a quarter is one caller's; an address stands for whoever has not proven who they are. Above, a body is refused
 * with 503 and `Retry-After`. Source: spec §7.1.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { clientKey } from "../gate/RateLimits.ts"

const SHARE = 4

export class BodyBudget {
  private readonly most: number
  private readonly held = new Map<string, number>()
  private all = 0

  constructor(bytes: number) {
    this.most = bytes
  }

  /** False when there is no room. Whoever takes gives back as much. */
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

/**
 * Whose share a body counts in. Behind the gate a body is read once the credential is proven; signing in has no gate, so
 * that counts for its address.
 */
export const holderOf = ({ headers }: IncomingMessage, client: string, isProven: boolean) =>
  (isProven ? (headers.authorization ?? headers.cookie) : undefined) ?? clientKey(client)

/** What one request holds, until its answer has gone out or its connection is closed. */
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
