/** Who waits for something to do, in order: as many are asked as there is something for, until so many have taken it. */
export type Waiter = () => boolean

export class Waiters {
  private readonly waiting = new Set<Waiter>()

  add(waiter: Waiter): void {
    this.waiting.add(waiter)
  }

  delete(waiter: Waiter): void {
    this.waiting.delete(waiter)
  }

  /** Whoever says that it took something, waits no more. */
  ask(most: number): void {
    for (const waiter of this.waiting) {
      if (most-- <= 0 || !waiter()) return
      this.waiting.delete(waiter)
    }
  }
}
