/** Log lines as a collector reads them: flat, a text as the message, stacks in one member. */
import { Cause, Effect, Logger } from "effect"
import { expect, it } from "vitest"
import { flatLogger } from "../../src/roles/FlatLogger.ts"

const logged = async (effect: Effect.Effect<void>) => {
  const lines: Array<string> = []
  const logger = Logger.replace(
    Logger.defaultLogger,
    Logger.map(flatLogger, (line) => void lines.push(line))
  )
  await Effect.runPromise(Effect.provide(effect, logger))
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>)
}

it("puts annotations beside the message, and never over it", async () => {
  const [line] = await logged(
    Effect.annotateLogs(Effect.logInfo("Endpoint disabled"), { endpointId: "whe_1", message: "mine" })
  )
  expect(line).toEqual({
    timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
    level: "info",
    message: "Endpoint disabled",
    endpointId: "whe_1",
    message_: "mine"
  })
})

it("joins a message of several parts, spreads facts, and keeps errors with their causes", async () => {
  const [first, second] = await logged(
    Effect.zipRight(
      Effect.logWarning("Old history was removed", 3, { deliveries: 7 }),
      Effect.logError("Unforeseen", Cause.die(new Error("no", { cause: new Error("why") })))
    )
  )
  expect(first).toMatchObject({ level: "warning", message: "Old history was removed 3", deliveries: 7 })
  expect(second).toMatchObject({ level: "error", message: "Unforeseen" })
  expect(second?.error).toMatch(/Error: no[\s\S]*Error: why/)
})
