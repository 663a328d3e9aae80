/**
 * The deadline of a request. Only this file interrupts a fiber from outside of Effect.
 *
 * `Effect.timeout` would run each request in another fiber, at 10 us each. Here a timer answers the request and interrupts its
 * fiber. The time in which the body arrives does not count: that has its own deadline.
 */
import { Effect, Fiber } from "effect"

export const ANSWER_MS = 15_000

export class Deadline {
  private readonly giveUp: () => void
  private timer: NodeJS.Timeout | undefined
  private ms = 0

  constructor(giveUp: () => void) {
    this.giveUp = giveUp
  }

  start(ms: number) {
    this.ms = ms
    this.timer = setTimeout(this.giveUp, ms)
  }

  pause() {
    clearTimeout(this.timer)
  }

  resume() {
    if (this.ms > 0) this.timer = setTimeout(this.giveUp, this.ms)
  }

  stop() {
    this.ms = 0
    clearTimeout(this.timer)
  }
}

/** Runs an effect with a deadline. When the time is over, `late` is called to answer, and the fiber is interrupted. */
export const withDeadline = <A, E, R>(
  late: () => void,
  run: (deadline: Deadline) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.withFiberRuntime((fiber) =>
    run(
      new Deadline(() => {
        late()
        Effect.runFork(Fiber.interruptFork(fiber))
      })
    )
  )
