/**
 * What goes on during an upgrade: events published over REST and SQL, lists read, endpoints changed, at whichever servers are
 * there. Whatever is refused, or not answered, is a fault: nobody is asked who was told to stop.
 */
import pg from "pg"

export const OPERATOR_TOKEN = "operator-token-of-the-upgrade"
export const SLUG = "acme"

/** Its answers differ when its old programs read what newer ones write, so each is read by both. */
const LISTS = [
  "/overview",
  "/webhooks",
  "/webhooks/deliveries",
  "/events",
  "/event-types",
  "/audit-events",
  "/notifications",
  "/api-tokens",
  "/members"
]

const PUBLISHERS = 4
const PUBLISH_PAUSE_MS = 4
const SQL_PAUSE_MS = 40
const USE_PAUSE_MS = 150
const TIMEOUT_MS = 15_000

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

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

export class Load {
  /** Deliveries of answered publishes and test sends, and of committed transactions. */
  readonly acknowledged: Array<string> = []
  readonly faults: Array<string> = []
  calls = 0
  /** Those that may be asked. */
  servers: ReadonlyArray<Server> = []
  private readonly endpoints: ReadonlyArray<string>
  private readonly eventTypes: ReadonlyArray<string>
  private readonly databaseUrl: string
  private readonly running: Array<Promise<void>> = []
  private over = false
  private turn = 0

  constructor(databaseUrl: string, endpoints: ReadonlyArray<string>, eventTypes: ReadonlyArray<string>) {
    this.databaseUrl = databaseUrl
    this.endpoints = endpoints
    this.eventTypes = eventTypes
  }

  start(): void {
    for (let n = 0; n < PUBLISHERS; n++) this.running.push(this.publish())
    this.running.push(this.publishInSql(), this.use())
  }

  async stop(): Promise<void> {
    this.over = true
    await Promise.all(this.running)
  }

  private async ask(method: string, path: string, body?: unknown): Promise<Body | undefined> {
    const server = this.servers[this.turn++ % this.servers.length]!
    this.calls += 1
    try {
      const answer = await call(server, method, `/workspaces/${SLUG}${path}`, body)
      if (answer.status < 300) return answer.body
      this.faults.push(`${server.name}: ${method} ${path} answered ${answer.status}: ${answer.text}`)
    } catch (error) {
      this.faults.push(`${server.name}: ${method} ${path} got no answer: ${error}`)
    }
    return undefined
  }

  private eventType(): string {
    return this.eventTypes[this.turn % this.eventTypes.length]!
  }

  private async publish(): Promise<void> {
    while (!this.over) {
      const body = await this.ask("POST", "/events", {
        eventType: this.eventType(),
        payload: { at: Date.now() }
      })
      this.acknowledged.push(...(body?.deliveryIds ?? []))
      await pause(PUBLISH_PAUSE_MS)
    }
  }

  private async publishInSql(): Promise<void> {
    const client = new pg.Client({ connectionString: this.databaseUrl })
    // Said again by the statement that it ends.
    client.on("error", () => undefined)
    await client.connect()
    while (!this.over) {
      try {
        const { rows } = await client.query<{ ids: ReadonlyArray<string> }>(
          `select delivery_ids as ids from posthorn.publish($1, $2, '{"by": "sql"}'::json)`,
          [SLUG, this.eventType()]
        )
        this.acknowledged.push(...rows.flatMap(({ ids }) => ids))
      } catch (error) {
        this.faults.push(`posthorn.publish: ${error}`)
      }
      await pause(SQL_PAUSE_MS)
    }
    await client.end()
  }

  /** One thing after the other, each at the next server. */
  private async use(): Promise<void> {
    for (let n = 0; !this.over; n++) {
      const endpoint = this.endpoints[n % this.endpoints.length]!
      const at = `/webhooks/${endpoint}`
      await this.ask("GET", LISTS[n % LISTS.length]!)
      await this.ask("GET", `${at}/deliveries`)
      await this.ask("GET", `${at}/stats`)
      await this.ask("GET", `${at}/diagnosis`)
      await this.ask("PATCH", at, { description: `the ${n}th` })
      const sent = await this.ask("POST", `${at}/test-event`)
      if (sent !== undefined) {
        this.acknowledged.push(sent.id)
        await this.ask("GET", `/trace/${sent.id}`)
      }
      await pause(USE_PAUSE_MS)
    }
  }
}
