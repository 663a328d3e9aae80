/** Publishers of a run: over REST, one by one or in batches, until they are answered; and in transactions of their own. */
import pg from "pg"
import type { Publish } from "./Acts.ts"

/** What a publisher was told, for the laws. */
export interface Acknowledged {
  readonly at: number
  readonly key: string
  readonly eventId: string
  readonly deliveryIds: ReadonlyArray<string>
}

export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>
) => Promise<{ status: number; body: unknown }>

interface Answer {
  readonly id: string
  readonly deliveryIds: ReadonlyArray<string>
}

/** Calls, and transactions, at a time; more only keep each other, and the machine, from getting on. */
const AT_ONCE = 24

class Turns {
  private taken = 0
  private readonly waiting: Array<() => void> = [];

  async in(act: () => Promise<void>): Promise<void> {
    if (this.taken === AT_ONCE) await new Promise<void>((resolve) => this.waiting.push(resolve))
    else this.taken += 1
    try {
      await act()
    } finally {
      const next = this.waiting.shift()
      if (next === undefined) this.taken -= 1
      else next()
    }
  }
}

export class Publishers {
  /** Answered, or committed by the publisher. */
  readonly acknowledged: Array<Acknowledged> = []
  /** Keys of transactions that were rolled back. */
  readonly undone: Array<string> = []
  /** Keys that were not published over REST. */
  readonly sql = new Set<string>()
  readonly running = new Set<Promise<void>>()
  private count = 0
  private readonly calls = new Turns()
  private readonly transactions = new Turns()
  private readonly slug: string
  private readonly call: Call
  private readonly databaseUrl: () => string

  constructor(slug: string, call: Call, databaseUrl: () => string) {
    this.slug = slug
    this.call = call
    this.databaseUrl = databaseUrl
  }

  publish(act: Publish): void {
    const key = `k${++this.count}`
    const published =
      act.by === "sql"
        ? this.transactions.in(() => this.bySql(key, act))
        : this.calls.in(() => this.byRest(key, act))
    const one = published.catch(() => undefined)
    this.running.add(one)
    void one.finally(() => this.running.delete(one))
  }

  private async byRest(key: string, { by, to }: Publish): Promise<void> {
    const event = { eventType: `e.n${to}`, payload: { key }, idempotencyKey: key }
    if (by === "rest") {
      const { body } = await this.call("POST", "/events", event)
      this.acknowledge(key, body as Answer)
      return
    }
    const keys = [key, `${key}b`]
    const events = keys.map((idempotencyKey) => ({
      ...event,
      payload: { key: idempotencyKey },
      idempotencyKey
    }))
    const { body } = await this.call("POST", "/events/batch", { events })
    for (const [n, item] of (body as { items: ReadonlyArray<Answer> }).items.entries())
      this.acknowledge(keys[n]!, item)
  }

  /** What fails here was never promised; only a COMMIT that was answered is. */
  private async bySql(key: string, { commits, late, to }: Publish): Promise<void> {
    this.sql.add(key)
    const client = new pg.Client({ connectionString: this.databaseUrl() })
    client.on("error", () => undefined)
    try {
      await client.connect()
      await client.query("begin")
      const { rows } = await client.query<{ id: string; delivery_ids: ReadonlyArray<string> }>(
        "select * from posthorn.publish($1, $2, $3, $4)",
        [this.slug, `e.n${to}`, JSON.stringify({ key }), key]
      )
      await new Promise((resolve) => setTimeout(resolve, late))
      if (!commits) this.undone.push(key)
      await client.query(commits ? "commit" : "rollback")
      if (commits) this.acknowledge(key, { id: rows[0]!.id, deliveryIds: rows[0]!.delivery_ids })
    } finally {
      await client.end()
    }
  }

  private acknowledge(key: string, { deliveryIds, id }: Answer): void {
    this.acknowledged.push({ at: Date.now(), key, eventId: id, deliveryIds })
  }
}
