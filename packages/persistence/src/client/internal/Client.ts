/**
 * The driver's client, for a URL with one host or with several. With several it connects to the host that accepts writes,
 * like libpq with `target_session_attrs=read-write`. It asks all hosts at once, so that one that does not answer delays
 * nothing. This process then uses the same host for its next connections, until a connection breaks or is refused a write.
 *
 * A connection to a host that has become a standby in the meantime fails; the next one asks again. Nothing is retried here.
 */

import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import { type Address, type Asked, acceptsWrites, ask, hostsOf, NoPrimary } from "../Hosts.ts"
import { noteRefusal } from "../WriteRefusals.ts"
import { makeNames } from "./StatementNames.ts"

const READ_ONLY = "25006"
const AGAIN_MS = 200

/** The host that accepts writes, as far as this process knows. */
class Primary {
  private readonly urls: ReadonlyArray<string>
  private known: Address | null = null
  private asking: Promise<Address> | null = null

  constructor(urls: ReadonlyArray<string>) {
    this.urls = urls
  }

  find(): Promise<Address> {
    if (this.known !== null) return Promise.resolve(this.known)
    this.asking ??= this.askAll().finally(() => {
      this.asking = null
    })
    return this.asking
  }

  forget(address: Address): void {
    if (this.known === address) this.known = null
  }

  private async askAll(): Promise<Address> {
    const asked: Array<Asked> = new Array(this.urls.length)
    let silent = this.urls.length
    /** Repeats the question while another host has not answered, because this one may be promoted meanwhile. */
    const untilAll = async (url: string, n: number): Promise<Asked> => {
      let answer = await ask(url)
      silent -= 1
      while (!answer.writes && silent > 0) {
        await pause(AGAIN_MS)
        answer = await ask(url)
      }
      asked[n] = answer
      return answer.writes ? answer : Promise.reject(answer.error)
    }
    try {
      this.known = await Promise.any(this.urls.map(untilAll))
      return this.known
    } catch {
      throw new NoPrimary(asked)
    }
  }
}

/** By URL: the pools and dedicated connections of a process share the answer. */
const primaries = new Map<string, Primary>()

const primaryOf = (url: string, urls: ReadonlyArray<string>) => {
  const known = primaries.get(url) ?? new Primary(urls)
  primaries.set(url, known)
  return known
}

/** Whether each connection has a session of its own, so that what it prepares stays. */
export interface Sessions {
  kept: boolean
}

interface ClientConfig extends pg.ClientConfig {
  readonly sessions?: Sessions
}

type Connected = (error: Error | null, client?: pg.Client) => void

export class Client extends pg.Client {
  private readonly primary: Primary | null
  /** The connection leads to a standby: it is closed when it is given back. */
  leaving = false

  constructor(config: ClientConfig = {}) {
    const url = config.connectionString ?? ""
    const urls = hostsOf(url) ?? [url]
    super({ ...config, connectionString: urls[0] })
    this.primary = urls.length > 1 ? primaryOf(url, urls) : null
    if (config.sessions) this.nameStatements(config.sessions)
    // The pool listens for errors while a connection is idle, and its user while it is used. In between, while it is set up,
    // nobody listens, and an error without a listener would end the process. Statements report failures by themselves.
    this.on("error", () => undefined)
    // `detail` and `where` quote rows and parameters, which would be logged with the error. The driver's own listener runs
    // after this one.
    this.connection.on("errorMessage", (problem: { code?: string; detail?: string; where?: string }) => {
      delete problem.detail
      delete problem.where
      noteRefusal(url, problem.code)
    })
  }

  /** `@effect/sql-pg` sends statements as text, values and a callback. */
  private nameStatements(sessions: Sessions): void {
    const nameOf = makeNames()
    const query = this.query.bind(this) as (...given: ReadonlyArray<unknown>) => never
    this.query = (text: unknown, values?: unknown, done?: unknown) => {
      const isNamed = sessions.kept && typeof text === "string" && Array.isArray(values) && values.length > 0
      const name = isNamed ? nameOf(text) : ""
      return name === "" ? query(text, values, done) : query({ name, text, values }, done)
    }
  }

  override connect(): Promise<pg.Client>
  override connect(connected: Connected): void
  override connect(connected?: Connected): Promise<pg.Client> | undefined {
    if (this.primary === null) {
      if (connected === undefined) return super.connect()
      super.connect(connected)
    } else {
      const connecting = this.reach(this.primary)
      if (connected === undefined) return connecting
      connecting.then(() => connected(null, this), connected)
    }
    return undefined
  }

  private async reach(primary: Primary): Promise<pg.Client> {
    const address = await this.unlessNone(primary.find())
    this.host = address.host
    this.port = address.port
    const leave = () => primary.forget(address)
    this.on("error", leave)
    this.connection.on("errorMessage", ({ code }: { readonly code?: string }) => {
      if (code === READ_ONLY) this.leaveStandby(leave)
    })
    try {
      await super.connect()
      if (!(await acceptsWrites(this))) throw new NoPrimary([{ ...address, writes: false, error: null }])
      return this
    } catch (error) {
      leave()
      void this.end().catch(() => undefined)
      throw error
    }
  }

  /** The driver handles its socket's errors only once it connects; until then a socket timeout would end the process. */
  private async unlessNone<A>(finding: Promise<A>): Promise<A> {
    const { stream } = this.connection
    stream.on("error", () => undefined)
    try {
      return await finding
    } catch (error) {
      stream.destroy()
      throw error
    }
  }

  /** Closes the connection after the failed statement has been reported. */
  private leaveStandby(leave: () => void): void {
    leave()
    this.leaving = true
    setImmediate(() => void this.end().catch(() => undefined))
  }
}
