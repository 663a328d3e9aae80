/**
 * The publishers of a run: over REST, one event or a batch at a time, until they are answered; and in transactions of their
 * own.
 */
import pg from "pg"
import type { Publish } from "./Actions.ts"
import { pause } from "./Disturbances.ts"

/** The answers that publishers got, for the laws. */
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

/** Concurrent calls, and transactions; more would only slow each other and the machine. */
const AT_ONCE = 24

/** Runs at most this many at a time, in turn. */
const makeTurns = () => {
  let taken = 0
  const waiting: Array<() => void> = []
  return async (run: () => Promise<void>): Promise<void> => {
    if (taken === AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
    else taken += 1
    try {
      await run()
    } finally {
      const next = waiting.shift()
      if (next === undefined) taken -= 1
      else next()
    }
  }
}

export type Publishers = ReturnType<typeof makePublishers>

export const makePublishers = (slug: string, call: Call, databaseUrl: () => string) => {
  /** Answered, or committed by the publisher. */
  const acknowledged: Array<Acknowledged> = []
  /** Keys of transactions that were rolled back. */
  const undone: Array<string> = []
  /** Keys that were not published over REST. */
  const sql = new Set<string>()
  const running = new Set<Promise<void>>()
  const inCalls = makeTurns()
  const inTransactions = makeTurns()
  let count = 0

  const acknowledge = (key: string, { deliveryIds, id }: Answer) =>
    acknowledged.push({ at: Date.now(), key, eventId: id, deliveryIds })

  const byRest = async (key: string, { by, to }: Publish) => {
    const event = (of: string) => ({ eventType: `e.n${to}`, payload: { key: of }, idempotencyKey: of })
    if (by === "rest") {
      const { body } = await call("POST", "/events", event(key))
      acknowledge(key, body as Answer)
      return
    }
    const keys = [key, `${key}b`]
    const { body } = await call("POST", "/events/batch", { events: keys.map(event) })
    for (const [n, item] of (body as { items: ReadonlyArray<Answer> }).items.entries())
      acknowledge(keys[n]!, item)
  }

  /** A transaction that fails here was never promised; only one whose COMMIT was answered is. */
  const bySql = async (key: string, { commits, late, to }: Publish) => {
    sql.add(key)
    const client = new pg.Client({ connectionString: databaseUrl() })
    client.on("error", () => undefined)
    try {
      await client.connect()
      await client.query("begin")
      const { rows } = await client.query<{ id: string; delivery_ids: ReadonlyArray<string> }>(
        "select * from posthorn.publish($1, $2, $3, $4)",
        [slug, `e.n${to}`, JSON.stringify({ key }), key]
      )
      await pause(late)
      if (!commits) undone.push(key)
      await client.query(commits ? "commit" : "rollback")
      if (commits) acknowledge(key, { id: rows[0]!.id, deliveryIds: rows[0]!.delivery_ids })
    } finally {
      await client.end()
    }
  }

  const publish = (action: Publish) => {
    const key = `k${++count}`
    const published =
      action.by === "sql" ? inTransactions(() => bySql(key, action)) : inCalls(() => byRest(key, action))
    const one = published.catch(() => undefined)
    running.add(one)
    void one.finally(() => running.delete(one))
  }
  return { acknowledged, undone, sql, running, publish }
}
