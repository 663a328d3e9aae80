/**
 * Shares the event loop among callers: requests begin in turns.
 *
 * Each caller has a line: a workspace, the operator, or an address whose token is not known. In each turn of the event loop requests
 * begin for `SLICE_MS`, one of each line in turn; then whatever has come over the sockets is read. So whoever sends a thousand
 * requests delays another caller's by a slice and by one of them. A request that has begun is not held up again: what it does in one
 * piece needs a bound of its own. Requests of one line begin in their order.
 */
import { Effect } from "effect"

const SLICE_MS = 2

type Begin = () => void

export class Turns {
  /** Those that wait, in the order of their turns. */
  private readonly lines = new Map<string, Set<Begin>>()
  /** When the slice of this turn of the event loop ends; undefined before it has begun. */
  private until: number | undefined

  /** Begins a request: at once if there is time and none of its line waits. */
  readonly begin =
    (line: string) =>
    <A, E, R>(request: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      !this.lines.has(line) && this.hasTime() ? request : Effect.zipRight(this.wait(line), request)

  private wait(line: string) {
    return Effect.async<void>((resume) => {
      const begin = () => resume(Effect.void)
      const waiting = this.lines.get(line) ?? new Set()
      this.lines.set(line, waiting.add(begin))
      return Effect.sync(() => {
        waiting.delete(begin)
        if (waiting.size === 0 && this.lines.get(line) === waiting) this.lines.delete(line)
      })
    })
  }

  private hasTime() {
    if (this.until !== undefined) return performance.now() < this.until
    this.until = performance.now() + SLICE_MS
    setImmediate(() => {
      this.until = undefined
      this.next()
    })
    return true
  }

  private readonly next = () => {
    if (this.lines.size === 0 || !this.hasTime()) return
    const [[line, waiting]] = this.lines as unknown as [[string, Set<Begin>]]
    const [begin] = waiting as unknown as [Begin]
    waiting.delete(begin)
    this.lines.delete(line)
    if (waiting.size > 0) this.lines.set(line, waiting)
    begin()
    // After the request's first step, which is queued before this.
    queueMicrotask(this.next)
  }
}
