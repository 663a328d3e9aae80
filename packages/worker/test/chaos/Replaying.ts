/**
 * People who send again what an endpoint lost, while everything else goes on: each order is one replay job, asked for with
 * an idempotency key until it is answered, and perhaps cancelled.
 */
import type { ReplayOrder } from "./Acts.ts"
import type { Call } from "./Publishers.ts"

/** A job that was promised. */
export interface Job {
  readonly id: string
  readonly endpointId: string
  cancelled: boolean
}

const AGAIN_MS = 200
const ALL = ["failed", "failed_permanent", "dead_lettered"]
const GIVEN_UP = ALL.slice(1)

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

export class Replaying {
  readonly jobs: Array<Job> = []
  private count = 0
  private readonly since = new Date().toISOString()
  private readonly call: Call
  private readonly idOf: (endpoint: number) => string

  constructor(call: Call, idOf: (endpoint: number) => string) {
    this.call = call
    this.idOf = idOf
  }

  /** Ends when the job is started, and cancelled if that is wished; not when it is done. */
  async order(order: ReplayOrder): Promise<void> {
    const job = await this.start(order, `replay-${++this.count}`)
    if (job === null || order.cancelAfter === null) return
    await pause(order.cancelAfter)
    job.cancelled = true
    await this.call("DELETE", `/webhooks/replays/${job.id}`)
  }

  /** A disabled endpoint is enabled first, as its notice says. Null when the endpoint is deleted. */
  private async start(
    { includeMissed, of, retried }: ReplayOrder,
    idempotencyKey: string
  ): Promise<Job | null> {
    const endpointId = this.idOf(of)
    const wish = { since: this.since, includeMissed, statuses: retried ? ALL : GIVEN_UP }
    for (;;) {
      const { body, status } = await this.call("POST", `/webhooks/${endpointId}/replays`, wish, {
        "idempotency-key": idempotencyKey
      })
      if (status === 404) return null
      if (status === 202) {
        const job = { id: (body as { readonly id: string }).id, endpointId, cancelled: false }
        this.jobs.push(job)
        return job
      }
      if (status !== 409) throw new Error(`A replay job was answered with ${status}: ${JSON.stringify(body)}`)
      const { _tag } = body as { readonly _tag?: string }
      if (_tag === "WebhookEndpointDisabled")
        await this.call("PATCH", `/webhooks/${endpointId}`, { enabled: true })
      else await pause(AGAIN_MS)
    }
  }
}
