import { expect, it } from "@effect/vitest"
import { Turns } from "@posthorn/server/gate/Turns"
import { Effect, Fiber } from "effect"

const STEP_MS = 1
const STEPS = 5

/** Takes the event loop for as long as a small request does. */
const busy = () => {
  const until = performance.now() + STEP_MS
  while (performance.now() < until);
}

const requestsOf = (count: number) =>
  Effect.gen(function* () {
    const turns = new Turns()
    const begun: Array<string> = []
    const request = (line: string, name = line) =>
      Effect.suspend(() =>
        turns.begin(line)(
          Effect.sync(() => {
            busy()
            begun.push(name)
          })
        )
      )
    const many = yield* Effect.forEach(
      Array.from({ length: count }, (_, n) => n),
      (n) => Effect.fork(request("many", `many ${n}`))
    )
    const one = yield* Effect.fork(request("one"))
    return { begun, many, one }
  })

it.live("§7.1 a caller's single request begins after one of another's thousand, which keep their order", () =>
  Effect.gen(function* () {
    const { begun, many, one } = yield* requestsOf(200)
    yield* Fiber.joinAll([...many, one])
    // Those that began before it came, in one slice, and one turn.
    expect(begun.indexOf("one")).toBeLessThan(6)
    expect(begun.filter((name) => name !== "one")).toEqual(Array.from({ length: 200 }, (_, n) => `many ${n}`))
  })
)

/** As after a statement: all that wait for it are ready at the same moment. */
const answered = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

it.live("§7.1 each step of a caller's request waits for a few steps of another's hundred", () =>
  Effect.gen(function* () {
    const turns = new Turns()
    const steps: Array<string> = []
    const request = (line: string) => {
      const step = Effect.sync(() => {
        busy()
        steps.push(line)
      })
      return Effect.suspend(() =>
        turns.begin(line)(Effect.repeatN(Effect.zipRight(answered, step), STEPS - 1))
      )
    }
    const many = yield* Effect.forEach(Array.from({ length: 100 }), () => Effect.fork(request("many")))
    const one = yield* Effect.fork(request("one"))
    yield* Fiber.joinAll([...many, one])
    const others = steps.slice(steps.indexOf("one"), steps.lastIndexOf("one")).length - STEPS
    expect(others).toBeLessThan(STEPS * 10)
    expect(steps.length).toBe(101 * STEPS)
  })
)

it.live("§7.1 requests whose client has gone are not begun, and leave nothing behind", () =>
  Effect.gen(function* () {
    const { begun, many, one } = yield* requestsOf(200)
    yield* Fiber.interruptAll(many)
    yield* Fiber.join(one)
    expect(begun.length).toBeLessThan(12)
  })
)
