/**
 * A DATABASE_URL with several hosts: the servers of one replicated PostgreSQL, as libpq writes them
 * (`postgresql://user:password@db1:5432,db2:5432/app`). Exactly one of them accepts writes, and which one may change at any
 * time. The driver knows one host only.
 */
import pg from "pg"

const FORM = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)(.*)$/s

const SESSION = "target_session_attrs"

const withoutSession = (url: URL, text: string) => {
  if (!url.searchParams.has(SESSION)) return text
  url.searchParams.delete(SESSION)
  return url.href
}

/** One URL for each host; null when it is not a URL of PostgreSQL. */
export const hostsOf = (text: string): ReadonlyArray<string> | null => {
  const [, before, hosts = "", after] = FORM.exec(text) ?? []
  const urls: Array<string> = []
  for (const host of hosts.split(",")) {
    const one = `${before}${host}${after}`
    if (before === undefined || (host === "" && hosts !== "") || !URL.canParse(one)) return null
    urls.push(withoutSession(new URL(one), one))
  }
  return urls
}

export interface Address {
  readonly host: string
  readonly port: number
}

export const shownAddress = ({ host, port }: Address) => `${host.includes(":") ? `[${host}]` : host}:${port}`

/** What one host answered; `error` says why it could not be asked. */
export interface Asked extends Address {
  readonly writes: boolean
  readonly error: unknown
}

export class NoPrimary extends Error {
  readonly asked: ReadonlyArray<Asked>

  constructor(asked: ReadonlyArray<Asked>) {
    super(`No host accepts writes: ${asked.map(shownAddress).join(", ")}`)
    this.name = "NoPrimary"
    this.asked = asked
  }
}

const ASK_TIMEOUT_MS = 3_000

/** A standby's transactions are always read-only, whatever they set. */
export const acceptsWrites = async (client: pg.Client): Promise<boolean> => {
  const { rows } = await client.query("show transaction_read_only")
  return rows[0]?.transaction_read_only === "off"
}

/** Never fails. */
export const ask = async (url: string): Promise<Asked> => {
  const client = new pg.Client({
    connectionString: url,
    application_name: "posthorn hosts",
    connectionTimeoutMillis: ASK_TIMEOUT_MS,
    query_timeout: ASK_TIMEOUT_MS
  })
  const { host, port } = client
  client.on("error", () => undefined)
  try {
    await client.connect()
    return { host, port, writes: await acceptsWrites(client), error: null }
  } catch (error) {
    return { host, port, writes: false, error }
  } finally {
    void client.end().catch(() => undefined)
  }
}
