/** Steps come to the same outcome without a fiber as with one. */
import { Context, Effect, Exit, Fiber, FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import { andThen, asking, Going, later, map, recover, recoverFrom } from "../src/AtOnce.ts"

class Caller extends Context.Tag("test/Caller")<Caller, number>() {}

type Made = Effect.Effect<number, string, Caller>

const context = Context.make(Caller, 7) as Context.Context<never>

/** Steps anew each time: what is at once happens while they are put together. */
type Recipe = () => Made

const starts: ReadonlyArray<Recipe> = [
  () => Effect.succeed(1),
  () => Effect.fail("refused"),
  () => Effect.die("defect"),
  () => asking((known) => Effect.succeed(Context.get(known, Caller))),
  () =>
    asking(() => {
      throw "thrown"
    }),
  () =>
    later((done) => {
      done(Exit.succeed(2))
      return () => undefined
    }),
  () =>
    later((done) => {
      setImmediate(() => done(Exit.succeed(3)))
      return () => undefined
    }),
  () =>
    later<number, string>((done) => {
      setImmediate(() => done(Exit.fail("refused later")))
      return () => undefined
    }),
  () => Effect.delay(Effect.succeed(4), 0),
  () => Effect.flatMap(Caller, (n) => Effect.fail(`refused to ${n}`))
]

/** What throws while it is put together is a defect to whoever puts it together. */
const defused = (made: Recipe): Made => {
  try {
    return made()
  } catch (defect) {
    return Effect.die(defect)
  }
}

const nexts: ReadonlyArray<(made: Recipe, other: Recipe) => Recipe> = [
  (made, other) => () => andThen(defused(made), (n) => map(other(), (m) => n * 10 + m)),
  (made) => () => map(defused(made), (n) => n + 100),
  (made) => () =>
    map(defused(made), () => {
      throw "thrown by a step"
    }),
  (made, other) => () => recoverFrom(defused(made), (error) => map(other(), (n) => n + error.length)),
  (made, other) => () => recover(defused(made), () => other()),
  (made) => () => Effect.suspend(made)
]

const start = fc.constantFrom(...starts)
const recipes = fc
  .tuple(start, fc.array(fc.tuple(fc.constantFrom(...nexts), start), { maxLength: 8 }))
  .map(([first, more]) => more.reduce((made, [next, other]) => next(made, other), first))

const goingOf = () =>
  new Going(context, (effect, done) => {
    const fiber = Effect.runFork(Effect.provide(effect, context))
    fiber.addObserver(done)
    return () => fiber.unsafeInterruptAsFork(fiber.id())
  })

const withoutFiber = (made: Made) =>
  new Promise<Exit.Exit<number, string>>((resolve) => goingOf().go(made, resolve))

const withFiber = (made: Made) =>
  Effect.runPromiseExit(Effect.provide(made, context as Context.Context<Caller>))

describe("steps", () => {
  it("decision §7 come to the same outcome with a fiber and without", () =>
    fc.assert(
      fc.asyncProperty(recipes, async (recipe) => {
        expect(await withoutFiber(defused(recipe))).toEqual(await withFiber(defused(recipe)))
      }),
      { numRuns: 500 }
    ))

  it("decision §7 tell nobody any more once they are stopped, and end what they wait for", () => {
    let settle: (exit: Exit.Exit<number>) => void = () => undefined
    let cancelled = 0
    const told: Array<unknown> = []
    const waiting = later<number>((done) => {
      settle = done
      return () => void cancelled++
    })
    const going = goingOf()
    going.go(
      map(waiting, (n) => n + 1),
      (exit) => told.push(exit)
    )
    going.stop()
    settle(Exit.succeed(1))

    expect(cancelled).toBe(1)
    expect(told).toEqual([])
  })

  it("decision §7 end what runs in a fiber when they are stopped", async () => {
    const interrupted = new Promise<void>((resolve) => {
      const going = goingOf()
      const endless = Effect.onInterrupt(Effect.never, () => Effect.sync(resolve))
      going.go(
        andThen(
          later<void>((done) => {
            done(Exit.void)
            return () => undefined
          }),
          () => endless
        ),
        () => undefined
      )
      setImmediate(() => going.stop())
    })

    await interrupted
  })

  it("decision §7 hear the first outcome only", () => {
    const told: Array<unknown> = []
    const twice = later<number>((done) => {
      done(Exit.succeed(1))
      done(Exit.succeed(2))
      return () => undefined
    })
    goingOf().go(twice, (exit) => told.push(exit))

    expect(told).toEqual([Exit.succeed(1)])
  })

  it("decision §7 are given up in a fiber as any effect is", async () => {
    let cancelled = 0
    const waiting = later<number>(() => () => void cancelled++)
    const fiber = Effect.runFork(map(waiting, (n) => n + 1))
    await Effect.runPromise(Effect.yieldNow())
    const exit = await Effect.runPromise(Fiber.interrupt(fiber))

    expect(cancelled).toBe(1)
    expect(Exit.isInterrupted(exit)).toBe(true)
  })
})
