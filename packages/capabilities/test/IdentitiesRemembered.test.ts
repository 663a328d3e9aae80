/** How long a token's rights are cached, to the millisecond. The test controls the clock. */
import { expect, layer } from "@effect/vitest"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Fiber, TestClock, TestContext } from "effect"
import { forged, identitiesThat, makeToken } from "./SampleTokens.ts"

const MINUTE_MS = 60_000

/** Waits until everything has begun that can begin without an answer. */
const begun = Effect.repeatN(Effect.yieldNow(), 100)

/** Sets this process's wall clock until the scope ends. */
const wallClock = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => Date.now),
    (now) =>
      Effect.sync(() => {
        Date.now = now
      })
  ),
  () => (ms: number) => {
    Date.now = () => ms
  }
)

layer(TestPg, { excludeTestServices: true })("cached rights of tokens", (it) => {
  it.effect("§5.1 are refreshed once after half a second, and used meanwhile until 0.9 s", () =>
    Effect.gen(function* () {
      const { text } = yield* makeToken
      const answers = yield* Effect.makeLatch(true)
      const sizes: Array<number> = []
      const { identify } = yield* identitiesThat({
        lookUp: (rows, { length }) => {
          sizes.push(length)
          return answers.whenOpen(rows)
        }
      })
      const use = Effect.suspend(() => identify(text))
      yield* use
      yield* answers.close

      yield* TestClock.adjust("499 millis")
      expect(yield* use).toBeDefined()
      yield* begun
      expect(sizes).toEqual([1])
      yield* TestClock.adjust("1 millis")
      expect([yield* use, yield* use]).not.toContain(undefined)
      yield* begun
      expect(sizes).toEqual([1, 1])
      yield* TestClock.adjust("399 millis")
      expect(yield* use).toBeDefined()
      yield* TestClock.adjust("1 millis")
      const late = yield* Effect.fork(use)
      yield* begun
      expect((yield* Fiber.poll(late))._tag).toBe("None")
      yield* answers.open
      expect(yield* Fiber.join(late)).toBeDefined()
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("§5.1 end with the token's expiry, and an expired token is refused", () =>
    Effect.gen(function* () {
      const { text } = yield* makeToken
      const left = { ms: 0 }
      const answers = yield* Effect.makeLatch(true)
      const { identify } = yield* identitiesThat({
        lookUp: (rows) =>
          answers.whenOpen(Effect.map(rows, (all) => all.map((row) => ({ ...row, leftMs: left.ms }))))
      })
      const use = Effect.suspend(() => identify(text))

      expect(yield* use).toBeUndefined()
      left.ms = 0.5
      expect(yield* use).toBeDefined()
      left.ms = 0
      yield* TestClock.adjust("1 millis")
      expect(yield* use).toBeUndefined()
      left.ms = 200
      yield* TestClock.adjust("1 seconds")
      expect(yield* use).toBeDefined()
      yield* answers.close
      yield* TestClock.adjust("199 millis")
      expect(yield* use).toBeDefined()
      yield* TestClock.adjust("1 millis")
      const over = yield* Effect.fork(use)
      yield* begun
      expect((yield* Fiber.poll(over))._tag).toBe("None")
      yield* Fiber.interrupt(over)
    }).pipe(Effect.provide(TestContext.TestContext))
  )

  it.effect("§5.1 are looked up by two statements at a time; waiting calls share the next one", () =>
    Effect.gen(function* () {
      const answers = yield* Effect.makeLatch(false)
      const sizes: Array<number> = []
      const { identify } = yield* identitiesThat({
        lookUp: (rows, { length }) => {
          sizes.push(length)
          return answers.whenOpen(rows)
        }
      })
      const ask = Effect.zipLeft(Effect.fork(Effect.suspend(() => identify(forged()))), begun)

      const asked = [yield* ask, yield* ask, yield* ask, yield* ask, yield* ask]
      expect(sizes).toEqual([1, 1])
      yield* answers.open
      yield* Fiber.joinAll(asked)

      expect(sizes).toEqual([1, 1, 3])
      expect(yield* identify("phk_mistyped")).toBeUndefined()
      expect(sizes.length).toBe(3)
    })
  )

  it.scoped("§5.1 record the use of a token once a minute", () =>
    Effect.gen(function* () {
      const { text } = yield* makeToken
      const minutes: Array<number> = []
      const { identify } = yield* identitiesThat({ touched: () => minutes.push(Date.now()) })
      const minute = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS
      const setTo = yield* wallClock
      const moments = [minute, minute + 1, minute + MINUTE_MS - 1, minute + MINUTE_MS, minute + MINUTE_MS + 1]

      for (const at of moments) {
        setTo(at)
        expect(yield* identify(text)).toBeDefined()
        yield* begun
      }

      expect(minutes).toEqual([minute, minute + MINUTE_MS])
    })
  )
})
