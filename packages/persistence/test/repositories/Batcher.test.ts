import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeBatcher } from "../../src/repositories/internal/Batcher.ts"

const KIB = 1_024

it.live("§7.1 a large event shares no statement with other workspaces' events", () =>
  Effect.gen(function* () {
    const statements: Array<ReadonlyArray<string>> = []
    const send = yield* makeBatcher(
      (items: ReadonlyArray<{ readonly line: string; readonly bytes: number }>) =>
        Effect.sync(() => {
          statements.push(items.map(({ line }) => line))
          return items
        }),
      {
        lineOf: ({ line }) => line,
        bytesOf: ({ bytes }) => bytes,
        isApart: () => false,
        alone: Effect.succeed,
        settle: (_, outcome) => outcome,
        left: () => undefined
      }
    )
    const items = [
      { line: "large", bytes: 1_024 * KIB },
      { line: "one", bytes: KIB },
      { line: "another", bytes: KIB }
    ]
    expect(yield* Effect.forEach(items, send, { concurrency: "unbounded" })).toEqual(items)
    expect(statements).toEqual([["large"], ["one", "another"]])
  })
)
