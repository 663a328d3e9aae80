/** Attempts that are over but not recorded yet. Their number is how far sending has run ahead of recording. */
import type { Settled } from "./Dispatched.ts"

export class Unrecorded {
  private readonly fresh: Array<Settled> = []
  /** Without attempts that are set aside: their lanes keep to their limits. */
  count = 0
  private aside = 0

  get length(): number {
    return this.fresh.length
  }

  get all(): number {
    return this.count + this.aside
  }

  add(settled: Settled): void {
    this.count++
    this.fresh.push(settled)
  }

  take(most: number): ReadonlyArray<Settled> {
    return this.fresh.splice(0, most)
  }

  setAside(settled: Settled): void {
    if (settled.aside) return
    settled.aside = true
    this.count--
    this.aside++
  }

  leave({ aside }: Settled): void {
    if (aside) this.aside--
    else this.count--
  }
}
