/** When each rate limit has its next permit: a binary heap with one timer, so that a waiting lane costs a few bytes. */
import type { SlidingWindow } from "./SlidingWindow.ts"

interface Timer {
  readonly moment: number
  readonly window: SlidingWindow
}

export class Timers {
  private readonly heap: Array<Timer> = []
  /** Moment of the timer that counts. Once an earlier one is set, the later one does nothing. */
  private next = Number.POSITIVE_INFINITY
  private readonly wakeAt: (moment: number, run: (now: number) => void) => void
  private readonly ring: (window: SlidingWindow, now: number) => void

  constructor(
    wakeAt: (moment: number, run: (now: number) => void) => void,
    ring: (window: SlidingWindow, now: number) => void
  ) {
    this.wakeAt = wakeAt
    this.ring = ring
  }

  set(window: SlidingWindow, moment: number): void {
    if (window.timer !== null || !Number.isFinite(moment)) return
    window.timer = moment
    this.push({ window, moment })
    this.arm()
  }

  private arm(): void {
    const moment = this.heap[0]?.moment
    if (moment === undefined || moment >= this.next) return
    this.next = moment
    this.wakeAt(moment, (now) => {
      if (this.next !== moment) return
      this.next = Number.POSITIVE_INFINITY
      const due: Array<SlidingWindow> = []
      while (this.heap.length > 0 && this.heap[0]!.moment <= now) due.push(this.pop().window)
      for (const window of due) {
        window.timer = null
        this.ring(window, now)
      }
      this.arm()
    })
  }

  private push(timer: Timer): void {
    const { heap } = this
    let child = heap.push(timer) - 1
    while (child > 0) {
      const parent = (child - 1) >> 1
      if (heap[parent]!.moment <= timer.moment) break
      heap[child] = heap[parent]!
      child = parent
    }
    heap[child] = timer
  }

  private pop(): Timer {
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
