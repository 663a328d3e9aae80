/**
 * The driver's client, for a URL with one host or with several. With several it connects to the one that accepts writes, as
 * libpq does with `target_session_attrs=read-write`: it asks all of them at once, so that one that is dark keeps nobody, and
 * remembers the answer for the next connections of this process, until one of them breaks or is refused a write.
 *
 * A connection to a host that has become a standby in the meantime fails; the next one asks again. Nothing is retried here.
 */

import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import { type Address, type Asked, acceptsWrites, ask, hostsOf, NoPrimary } from "../Hosts.ts"
import { noteRefusal } from "../WriteRefusals.ts"

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
    /** Again and again while another says nothing: meanwhile this one may be promoted. */
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

/** By the URL: the pools and the dedicated connections of a process share what they know. */
const primaries = new Map<string, Primary>()

const primaryOf = (url: string, urls: ReadonlyArray<string>) => {
  const known = primaries.get(url) ?? new Primary(urls)
  primaries.set(url, known)
  return known
}

type Connected = (error: Error | null, client?: pg.Client) => void

export class Client extends pg.Client {
  private readonly primary: Primary | null
  /** It leads to a standby: whoever gives it back gives it up. */
  leaving = false

  constructor(config: pg.ClientConfig = {}) {
    const url = config.connectionString ?? ""
    const urls = hostsOf(url) ?? [url]
    super({ ...config, connectionString: urls[0] })
    this.primary = urls.length > 1 ? primaryOf(url, urls) : null
    // The pool listens while a connection is idle, and whoever has one while it is used; in between, while it is made ready,
    // nobody would, and an error without a listener ends the process. Statements fail by themselves.
    this.on("error", () => undefined)
    // Both quote rows and parameters, and whoever logs an error logs its members. The driver listens after us.
    this.connection.on("errorMessage", (problem: { code?: string; detail?: string; where?: string }) => {
      delete problem.detail
      delete problem.where
      noteRefusal(url, problem.code)
    })
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

  /** The driver looks after its socket only once it connects; one with a limit on silence would end the process. */
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

  /** Once whoever made the statement has been told why it failed. */
  private leaveStandby(leave: () => void): void {
    leave()
    this.leaving = true
    setImmediate(() => void this.end().catch(() => undefined))
  }
}
