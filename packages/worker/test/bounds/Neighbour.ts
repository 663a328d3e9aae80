/** How another workspace fares while something is tried: see `Neighbour.mjs`. */
import { once } from "node:events"
import { Worker } from "node:worker_threads"
import { Effect } from "effect"

export interface Fared {
  /** Milliseconds until a publish was answered, the median. */
  readonly publishMs: number
  /** Milliseconds until a delivery had arrived, the median. */
  readonly arrivalMs: number
}

export interface Neighbour {
  readonly receiverUrl: string
  readonly begin: (url: string, token: string) => Promise<void>
  /** Since the last time, once there are at least so many publishes. */
  readonly tell: (least?: number) => Promise<Fared>
}

const median = (values: ReadonlyArray<number>) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

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
        return { publishMs: median(told.publishes), arrivalMs: median(told.arrivals) }
      }
    }
  }
)
