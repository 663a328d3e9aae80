/** Keeps what some calls of a connection do in the order in which they came, while one of them has to wait. */
import { makeKeyedSemaphores } from "@posthorn/persistence/client/KeyedSemaphores"
import type { Effect } from "effect"

export const makeLines = () => {
  const { isUsed, withPermit } = makeKeyedSemaphores()

  /** After the calls of the connection that are in line; null: no order. */
  const run = <A, E, R>(connection: string | null, call: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    connection === null ? call : withPermit(connection)(call)

  /** The same for a call that waits for nothing else: without a line it goes on at once. */
  const behind = <A, E, R>(
    connection: string | null,
    call: Effect.Effect<A, E, R>
  ): Effect.Effect<A, E, R> => (connection === null || !isUsed(connection) ? call : run(connection, call))

  return { behind, run } as const
}
