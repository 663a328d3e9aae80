/**
 * When each rate has its next permit, the first one first: a binary heap, and one timer for all of it. So a lane that waits for its
 * rate costs a few bytes. Each rate has one alarm at most.
 */
import type { Rate } from "./SlidingWindow.ts"

interface Alarm {
  readonly moment: number
  readonly rate: Rate
}

export class Timers {
  private readonly heap: Array<Alarm> = []
  /** When the timer goes off. A timer that was overtaken does nothing. */
  private timer = Number.POSITIVE_INFINITY
  private readonly wakeAt: (moment: number, run: (now: number) => void) => void
  private readonly ring: (rate: Rate, now: number) => void

  constructor(
    wakeAt: (moment: number, run: (now: number) => void) => void,
    ring: (rate: Rate, now: number) => void
  ) {
    this.wakeAt = wakeAt
    this.ring = ring
  }

  set(rate: Rate, moment: number): void {
    if (rate.alarm !== null || !Number.isFinite(moment)) return
    rate.alarm = moment
    this.push({ rate, moment })
    this.arm()
  }

  private arm(): void {
    const moment = this.heap[0]?.moment
    if (moment === undefined || moment >= this.timer) return
    this.timer = moment
    this.wakeAt(moment, (now) => {
      if (this.timer !== moment) return
      this.timer = Number.POSITIVE_INFINITY
      const due: Array<Rate> = []
      while (this.heap.length > 0 && this.heap[0]!.moment <= now) due.push(this.pop().rate)
      for (const rate of due) {
        rate.alarm = null
        this.ring(rate, now)
      }
      this.arm()
    })
  }

  private push(alarm: Alarm): void {
    const { heap } = this
    let child = heap.push(alarm) - 1
    while (child > 0) {
      const parent = (child - 1) >> 1
      if (heap[parent]!.moment <= alarm.moment) break
      heap[child] = heap[parent]!
      child = parent
    }
    heap[child] = alarm
  }

  private pop(): Alarm {
    const { heap } = this
    const top = heap[0]!
    const last = heap.pop()!
    if (heap.length === 0) return top
    let parent = 0
    for (let child = 1; child < heap.length; child = 2 * parent + 1) {
      if (child + 1 < heap.length && heap[child + 1]!.moment < heap[child]!.moment) child++
      if (last.moment <= heap[child]!.moment) break
      heap[parent] = heap[child]!
      parent = child
    }
    heap[parent] = last
    return top
  }
}
