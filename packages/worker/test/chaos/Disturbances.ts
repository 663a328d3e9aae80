/** What a fault may explain afterwards: outdated reads, and repeated posts. */

interface Disturbance {
  readonly from: number
  /** When it ended; a kill ends at once. */
  to: number
}

/** Without disturbances, what a post uses is at most this old; the machine that runs all of this may be busy. */
const REACH_MS = 1_500

/** Without disturbances, the longest time until a worker knows of an answer or a change. */
const LAG_MS = 100

/** What was in flight at the fault was published, or last recorded, within this time. */
const SEEN_LATER_MS = 20_000

/** How often this process checks that it still gets processor time, and which delay counts as a stall. */
const LOOK_MS = 50
const STALL_MS = 200

export const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

export class Disturbances {
  private readonly all: Array<Disturbance> = []
  /** How often and for how long the machine had no time for this process, and so probably none for the others. */
  readonly stalls = { count: 0, ms: 0 }
  private watching: NodeJS.Timeout | null = null

  /** Begins a disturbance; its end is written into the returned object. */
  begin(): Disturbance {
    const one = { from: Date.now(), to: Date.now() }
    this.all.push(one)
    return one
  }

  /** A disturbance that lasts as long as the effect. */
  async while(run: () => Promise<void>): Promise<void> {
    const one = this.begin()
    const watch = setInterval(() => {
      one.to = Date.now()
    }, LOOK_MS)
    await run().finally(() => clearInterval(watch))
    one.to = Date.now()
  }

  /** A busy machine stalls now and then: that counts as a disturbance, and is reported. */
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

  /**
   * How long before this moment the data of a post may have been read: data of a frozen process, or on its way, is older.
   */
  reach(at: number): number {
    let from = at - REACH_MS
    for (const one of [...this.all].sort((a, b) => b.to - a.to)) {
      if (one.to >= from && one.from <= at) from = Math.min(from, one.from - REACH_MS)
    }
    return at - from
  }

  /** After a fault a worker may have to start anew, and knows nothing. */
  lag(at: number): number {
    return this.during(at - REACH_MS, at) ? this.reach(at) + REACH_MS : LAG_MS
  }

  during(from: number, to: number): boolean {
    return this.all.some((one) => one.to >= from && one.from <= to)
  }

  /** The number of disturbances that may have repeated a delivery sent in this interval. */
  between(from: number, to: number): number {
    return this.all.filter((one) => one.to + SEEN_LATER_MS >= from && one.from <= to).length
  }
}
