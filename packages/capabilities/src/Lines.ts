/** Keeps what some calls of a connection do in the order in which they came, while one of them has to wait. */
import { Effect } from "effect"

interface Line {
  readonly turns: Effect.Semaphore
  calls: number
}

export const makeLines = () => {
  const lines = new Map<string, Line>()

  /** After the calls of the connection that are in line; null: no order. */
  const run = <A, E, R>(connection: string | null, call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    connection === null
      ? call
      : Effect.suspend(() => {
          const line = lines.get(connection) ?? { turns: Effect.unsafeMakeSemaphore(1), calls: 0 }
          lines.set(connection, line)
          line.calls++
          const leave = Effect.sync(() => {
            if (--line.calls === 0) lines.delete(connection)
          })
          return Effect.ensuring(line.turns.withPermits(1)(call), leave)
        })

  /** The same for a call that waits for nothing else: without a line it goes on at once. */
  const behind = <A, E, R>(
    connection: string | null,
    call: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> => (connection === null || !lines.has(connection) ? call : run(connection, call))

  return { behind, run } as const
}
