/** What a fault may explain afterwards: reads that grew old, and posts that were made again. */

export interface Disturbance {
  readonly from: number
  /** When it was over; a kill is over at once. */
  to: number
}

/** What a post uses is at most so old when nothing is disturbed; the machine that runs all of this may be busy. */
const REACH_MS = 1_500

/** So long may it take, undisturbed, until a worker knows of an answer or a change. */
const LAG_MS = 100

/** What was in flight when the fault came was published, or recorded for the last time, not long before or after. */
const SEEN_LATER_MS = 20_000

/** How often is looked whether this process still gets its turn, and what is too late. */
const LOOK_MS = 50
const STALL_MS = 200

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

export class Disturbances {
  private readonly all: Array<Disturbance> = []
  /** How often and for how long the machine had no time for this process, and so hardly for the others. */
  readonly stalls = { count: 0, ms: 0 }
  private watching: NodeJS.Timeout | null = null

  /** Begins one; its end is written into what this gives. */
  begin(): Disturbance {
    const one = { from: Date.now(), to: Date.now() }
    this.all.push(one)
    return one
  }

  /** One that lasts as long as this does. */
  async while(run: () => Promise<void>): Promise<void> {
    const one = this.begin()
    const watch = setInterval(() => {
      one.to = Date.now()
    }, LOOK_MS)
    await run().finally(() => clearInterval(watch))
    one.to = Date.now()
  }

  /** A busy machine stands still now and then: that is a disturbance like any other, and is told. */
  watch(): void {
    let last = Date.now()
    this.watching = setInterval(() => {
      const now = Date.now()
      const late = now - last - LOOK_MS
      if (late > STALL_MS) {
        this.all.push({ from: last, to: now })
        this.stalls.count += 1
        this.stalls.ms += late
      }
      last = now
    }, LOOK_MS)
  }

  stopWatching(): void {
    if (this.watching !== null) clearInterval(this.watching)
  }

  /** How far before this moment what was used may have been read: what stands still, or is on its way, grows old. */
  reach(at: number): number {
    let from = at - REACH_MS
    for (const one of [...this.all].sort((a, b) => b.to - a.to)) {
      if (one.to >= from && one.from <= at) from = Math.min(from, one.from - REACH_MS)
    }
    return at - from
  }

  /** After a fault a worker may have to begin anew, and knows nothing. */
  lag(at: number): number {
    return this.during(at - REACH_MS, at) ? this.reach(at) + REACH_MS : LAG_MS
  }

  during(from: number, to: number): boolean {
    return this.all.some((one) => one.to >= from && one.from <= to)
  }

  /** How many may have repeated a delivery that was sent between these moments. */
  between(from: number, to: number): number {
    return this.all.filter((one) => one.to + SEEN_LATER_MS >= from && one.from <= to).length
  }
}
