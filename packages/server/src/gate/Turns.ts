/**
 * Shares the event loop among callers: the fibers of their requests run step by step, in turns.
 *
 * Each caller has a line: a workspace, the operator, or an address whose token is not known. While a line uses less than `SHARE` of the
 * event loop, its fibers run as soon as they are ready. Beyond that they wait: in each turn of the event loop, steps run for a
 * slice, one of each waiting line in turn; then whatever has come over the sockets is read. So whoever sends a thousand requests
 * delays a step of another caller's by a slice and by one of their steps. What a fiber does in one step needs a bound of its own.
 * Steps of one line run in the order in which they became ready.
 */
import { Effect, FiberRef, Scheduler } from "effect"

const SHARE = 0.25
/** What a line may use at once after a pause. */
const BURST_MS = 2
const SLICE_MS = 2
/** The slice of a line that is alone. Turns of the event loop cost time: with 2 ms a publish took 5 to 9 % more of `serve`. */
const ALONE_MS = 8
/** Without a step of another line for so long, a line is alone. */
const ALONE_AFTER_MS = 1_000
/** At this many lines, those are forgotten that have not used more than their share. */
const LINES = 1_000

interface Line {
  readonly scheduler: Scheduler.Scheduler
  readonly steps: Array<Scheduler.Task>
  /** When it will have used no more than its share. */
  paidAt: number
}

const hasCredit = ({ paidAt }: Line, ms: number) => paidAt - performance.now() < ms / SHARE

export class Turns {
  private readonly lines = new Map<string, Line>()
  private forgetAt = LINES
  /** In the order of their turns. */
  private readonly waiting: Array<Line> = []
  /** When the slice ends. */
  private until = 0
  private last: Line | undefined
  private changedAt = 0

  /** Begins a request. It must be the whole fiber. */
  begin(name: string) {
    const { scheduler } = this.lineOf(name)
    const begun = Effect.zipRight(FiberRef.set(FiberRef.currentScheduler, scheduler), Effect.yieldNow())
    return <A, E, R>(request: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.zipRight(begun, request)
  }

  private lineOf(name: string): Line {
    const known = this.lines.get(name)
    if (known !== undefined) return known
    if (this.lines.size >= this.forgetAt) this.forget()
    const steps: Array<Scheduler.Task> = []
    const ready = () => this.ready(line)
    const scheduler = Scheduler.make((step) => {
      if (steps.push(step) === 1) queueMicrotask(ready)
    })
    const line: Line = { scheduler, steps, paidAt: 0 }
    this.lines.set(name, line)
    return line
  }

  private forget() {
    for (const [name, line] of this.lines)
      if (line.steps.length === 0 && hasCredit(line, 0)) this.lines.delete(name)
    this.forgetAt = this.lines.size + LINES
  }

  private ready(line: Line) {
    if (!hasCredit(line, BURST_MS)) {
      if (this.waiting.push(line) === 1) setImmediate(this.turn)
    } else if (this.runOne(line)) queueMicrotask(() => this.ready(line))
  }

  private readonly turn = () => {
    const now = performance.now()
    this.until = now + (now - this.changedAt > ALONE_AFTER_MS ? ALONE_MS : SLICE_MS)
    this.next()
  }

  private readonly next = () => {
    const line = this.waiting[0]!
    const hasMore = this.runOne(line)
    this.waiting.shift()
    if (hasMore) this.waiting.push(line)
    if (this.waiting.length === 0) return
    // After what the step has queued.
    if (performance.now() < this.until) queueMicrotask(this.next)
    else setImmediate(this.turn)
  }

  /** Runs its next step, and tells whether there is another one. */
  private runOne(line: Line): boolean {
    const began = performance.now()
    if (line !== this.last) {
      this.last = line
      this.changedAt = began
    }
    line.steps[0]!()
    line.steps.shift()
    line.paidAt = Math.max(line.paidAt, began) + (performance.now() - began) / SHARE
    return line.steps.length > 0
  }
}
