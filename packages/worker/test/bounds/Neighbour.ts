/** How another workspace fares while something is tried: see `Neighbour.mjs`. */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { Effect } from "effect"

/** Milliseconds. */
interface Times {
  readonly p50: number
  readonly p95: number
}

export interface Fared {
  /** Until a publish was answered. */
  readonly publish: Times
  /** Until a delivery had arrived. */
  readonly arrival: Times
}

export interface Neighbour {
  readonly receiverUrl: string
  readonly begin: (url: string, token: string) => Promise<void>
  /** Since the last time, once there are at least so many publishes. */
  readonly tell: (least?: number) => Promise<Fared>
}

const timesOf = (values: ReadonlyArray<number>): Times => {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  return { p50: at(0.5), p95: at(0.95) }
}

export const neighbour = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      const worker = new Worker(new URL("Neighbour.mjs", import.meta.url))
      const [{ port }] = (await once(worker, "message")) as [{ port: number }]
      return { worker, port }
    }),
    ({ worker }) => Effect.promise(() => worker.terminate())
  ),
  ({ port, worker }): Neighbour => {
    const ask = async <A>(message: object) => {
      worker.postMessage(message)
      return (await once(worker, "message"))[0] as A
    }
    return {
      receiverUrl: `http://127.0.0.1:${port}/`,
      begin: (url, token) =>
        ask({
          what: "begin",
          url,
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" }
        }),
      tell: async (least = 0) => {
        const told = await ask<{ publishes: Array<number>; arrivals: Array<number> }>({ what: "tell", least })
        return { publish: timesOf(told.publishes), arrival: timesOf(told.arrivals) }
      }
    }
  }
)
