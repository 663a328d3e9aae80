/**
 * The load during an upgrade: events published over REST and SQL, lists read, endpoints changed, on all running servers.
 * Every refused or unanswered call is a fault; calls stop before a server is told to stop.
 */
import pg from "pg"
import { pause } from "../chaos/Disturbances.ts"

export const OPERATOR_TOKEN = "operator-token-of-the-upgrade"
export const SLUG = "acme"

/** An endpoint whose answers differ, because old programs read what newer ones write; each is read by both. */
const LISTS =
  "/overview /webhooks /webhooks/deliveries /events /event-types /audit-events /notifications /api-tokens /members".split(
    " "
  )

const PUBLISHERS = 4
const PUBLISH_PAUSE_MS = 4
const SQL_PAUSE_MS = 40
const USE_PAUSE_MS = 150
const TIMEOUT_MS = 15_000

export interface Server {
  readonly name: string
  readonly origin: string
}

interface Body {
  readonly id: string
  readonly deliveryIds: ReadonlyArray<string>
  readonly signingSecret: string
}

export const call = async ({ origin }: Server, method: string, path: string, body?: unknown) => {
  const answer = await fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${OPERATOR_TOKEN}`, "content-type": "application/json" },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(body !== undefined && { body: JSON.stringify(body) })
  })
  const text = await answer.text()
  return { status: answer.status, body: (text === "" ? {} : JSON.parse(text)) as Body, text }
}

export type Load = ReturnType<typeof makeLoad>

export const makeLoad = (
  databaseUrl: string,
  endpoints: ReadonlyArray<string>,
  eventTypes: ReadonlyArray<string>
) => {
  /** `acknowledged`: deliveries of answered publishes and test sends, and of committed transactions. */
  const acknowledged: Array<string> = []
  const faults: Array<string> = []
  /** `servers`: those that may be called. */
  const state = { acknowledged, faults, calls: 0, servers: [] as ReadonlyArray<Server> }
  let over = false
  let turn = 0

  const ask = async (method: string, path: string, body?: unknown): Promise<Body | undefined> => {
    const server = state.servers[turn++ % state.servers.length]!
    state.calls += 1
    try {
      const answer = await call(server, method, `/workspaces/${SLUG}${path}`, body)
      if (answer.status < 300) return answer.body
      faults.push(`${server.name}: ${method} ${path} answered ${answer.status}: ${answer.text}`)
    } catch (error) {
      faults.push(`${server.name}: ${method} ${path} got no answer: ${error}`)
    }
    return undefined
  }

  const eventType = () => eventTypes[turn % eventTypes.length]!

  const publish = async () => {
    for (; !over; await pause(PUBLISH_PAUSE_MS)) {
      const body = await ask("POST", "/events", { eventType: eventType(), payload: { at: Date.now() } })
      acknowledged.push(...(body?.deliveryIds ?? []))
    }
  }

  const publishInSql = async () => {
    const client = new pg.Client({ connectionString: databaseUrl })
    // Said again by the statement that it ends.
    client.on("error", () => undefined)
    await client.connect()
    const statement = `select delivery_ids as ids from posthorn.publish($1, $2, '{"by": "sql"}'::json)`
    for (; !over; await pause(SQL_PAUSE_MS))
      try {
        const { rows } = await client.query<{ ids: ReadonlyArray<string> }>(statement, [SLUG, eventType()])
        acknowledged.push(...rows.flatMap(({ ids }) => ids))
      } catch (error) {
        faults.push(`posthorn.publish: ${error}`)
      }
    await client.end()
  }

  /** One call after another, each to the next server. */
  const use = async () => {
    for (let n = 0; !over; n++) {
      const at = `/webhooks/${endpoints[n % endpoints.length]}`
      for (const path of [LISTS[n % LISTS.length]!, `${at}/deliveries`, `${at}/stats`, `${at}/diagnosis`])
        await ask("GET", path)
      await ask("PATCH", at, { description: `the ${n}th` })
      const sent = await ask("POST", `${at}/test-event`)
      if (sent !== undefined) {
        acknowledged.push(sent.id)
        await ask("GET", `/trace/${sent.id}`)
      }
      await pause(USE_PAUSE_MS)
    }
  }

  let running: Promise<unknown> = Promise.resolve()
  return Object.assign(state, {
    start: () => {
      running = Promise.all([...Array.from({ length: PUBLISHERS }, publish), publishInSql(), use()])
    },
    stop: async () => {
      over = true
      await running
    }
  })
}
