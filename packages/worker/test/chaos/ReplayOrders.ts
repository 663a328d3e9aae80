/**
 * People who replay what an endpoint lost, while everything else goes on. Each order is one replay job, requested with an
 * idempotency key until it is answered, and perhaps cancelled.
 */
import type { ReplayOrder } from "./Actions.ts"
import { pause } from "./Disturbances.ts"
import type { Call } from "./Publishers.ts"

/** A job that was acknowledged. */
export interface Job {
  readonly id: string
  readonly endpointId: string
  cancelled: boolean
}

const AGAIN_MS = 200
const GIVEN_UP = ["failed_permanent", "dead_lettered"]

export const makeReplayOrders = (call: Call, idOf: (endpoint: number) => string) => {
  const jobs: Array<Job> = []
  const since = new Date().toISOString()
  let count = 0

  /** Enables a disabled endpoint first, as the notification says. Null when the endpoint is deleted. */
  const start = async ({ includeMissed, of, retried }: ReplayOrder): Promise<Job | null> => {
    const endpointId = idOf(of)
    const path = `/webhooks/${endpointId}`
    const wish = { since, includeMissed, statuses: retried ? ["failed", ...GIVEN_UP] : GIVEN_UP }
    const headers = { "idempotency-key": `replay-${++count}` }
    for (;;) {
      const { body, status } = await call("POST", `${path}/replays`, wish, headers)
      const { _tag, id } = body as { readonly _tag?: string; readonly id: string }
      if (status === 404) return null
      if (status === 202) return jobs[jobs.push({ id, endpointId, cancelled: false }) - 1]!
      if (status !== 409) throw new Error(`A replay job was answered with ${status}: ${JSON.stringify(body)}`)
      if (_tag === "WebhookEndpointDisabled") await call("PATCH", path, { enabled: true })
      else await pause(AGAIN_MS)
    }
  }

  /** Ends when the job is started, and cancelled if requested; not when it is done. */
  const order = async (one: ReplayOrder): Promise<void> => {
    const job = await start(one)
    if (job === null || one.cancelAfter === null) return
    await pause(one.cancelAfter)
    job.cancelled = true
    await call("DELETE", `/webhooks/replays/${job.id}`)
  }
  return { jobs, order }
}
