/** Semaphores of one permit, by key. An unused key takes no memory. */
import { Effect } from "effect"

interface Entry {
  readonly semaphore: Effect.Semaphore
  /** Holders of a permit and waiters. */
  users: number
}

export const makeKeyedSemaphores = () => {
  const entries = new Map<string, Entry>()

  const enter = (key: string) =>
    Effect.map(Effect.makeSemaphore(1), (semaphore): Entry => {
      const entry = entries.get(key) ?? { semaphore, users: 0 }
      entries.set(key, entry)
      entry.users += 1
      return entry
    })

  const leave = (key: string, entry: Entry) =>
    Effect.sync(() => {
      entry.users -= 1
      if (entry.users === 0) entries.delete(key)
    })

  const withPermit =
    (key: string) =>
    <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.acquireUseRelease(
        enter(key),
        ({ semaphore }) => semaphore.withPermits(1)(self),
        (entry) => leave(key, entry)
      )

  return { isUsed: (key: string) => entries.has(key), withPermit }
}
