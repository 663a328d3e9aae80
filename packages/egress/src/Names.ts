/**
 * Name resolution that drops refused addresses, and whose capacity no single workspace can use up.
 *
 * A public name may resolve to a private address. So the addresses of this look-up's answer are checked, and exactly those are
 * connected to: there is no second resolution in between. Literal addresses need no look-up; Connect.ts checks them.
 *
 * - A workspace has at most `LOOKUPS` look-ups under way. Further ones wait for their turn, `TURN_MS` at most, and then fail
 *   with `NoTurn`. Nothing was asked then, so this is no failure of the endpoint.
 * - A look-up that is under way serves all callers with the same name and port. Only its first caller needs a turn.
 * - Answers are remembered for their TTL, and failures for a few seconds. A name with only refused addresses is remembered as
 *   one without addresses: the time that a second attempt takes must not reveal which internal names exist.
 *
 * Source: spec §2.8, last rules.
 */
import type { LookupAddress } from "node:dns"
import type { LookupFunction } from "node:net"
import { LRUCache } from "lru-cache"
import { type Turn, Turns } from "./Turns.ts"

/** Whether this address is refused. `hostname` is the URL's, for targets that are allowed by name. */
export type Refuses = (address: string, port: number, hostname: string) => boolean

/** An address, and how many seconds it may be remembered. */
export interface Found extends LookupAddress {
  readonly ttl?: number
}

/** Calls back once, within its own deadline. */
export type Resolve = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null, found: ReadonlyArray<Found>) => void
) => void

/**
 * The name has no address that may be connected to. Neither the record nor the time of the failure shows whether it has none at
 * all or only refused ones. Otherwise, whoever chooses the URL could find out which internal names exist.
 */
export class ResolutionFailed extends Error {
  override readonly name = "ResolutionFailed"
}

/** The workspace has too many look-ups or handshakes under way, so this one was not begun. */
export class NoTurn extends Error {
  override readonly name = "NoTurn"
}

/** The literal address is of a refused class. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused"
}

/** Look-ups that a workspace may have under way. With an answer in 20 ms that is 800 new names a second. */
export const LOOKUPS = 16
/** How long a look-up waits for its turn. It occupies a slot of the worker meanwhile. */
const TURN_MS = 1_000
/** A change of address is noticed within this time, whatever the TTL says. */
const KEEP_MOST_MS = 60_000
/** For names without an address: an address that was just added is found soon. */
const KEEP_FAILED_MS = 5_000
/** About 10 MB at most. */
const NAMES = 20_000

type Told = (error: Error | null, addresses: ReadonlyArray<LookupAddress>) => void

interface Answer {
  readonly addresses: ReadonlyArray<LookupAddress>
  readonly until: number
}

interface Wanted {
  readonly hostname: string
  readonly port: number
  readonly told: Told
}

interface NamesOptions {
  readonly resolve: Resolve
  readonly refuses: Refuses
  /** Milliseconds that only go forward. */
  readonly now: () => number
}

export class Names {
  private readonly answers = new LRUCache<string, Answer>({ max: NAMES })
  private readonly running = new Map<string, Array<Told>>()
  private readonly turns = new Turns(LOOKUPS, TURN_MS)
  private readonly options: NamesOptions

  constructor(options: NamesOptions) {
    this.options = options
  }

  /** A `lookup` for net.connect: the addresses that are not refused, or an error when there is none. */
  lookup(workspaceId: string, port: number): LookupFunction {
    return (hostname, options, callback) =>
      this.find(workspaceId, {
        hostname,
        port,
        told: (error, addresses) => {
          const first = addresses[0]
          if (first === undefined) return callback(error ?? new ResolutionFailed(), [])
          if (options.all === true) callback(null, [...addresses])
          else callback(null, first.address, first.family)
        }
      })
  }

  private find(workspaceId: string, wanted: Wanted): void {
    if (this.isServed(wanted)) return
    const turn: Turn = {
      begin: () => {
        if (this.isServed(wanted)) this.turns.end(workspaceId, turn)
        else this.start(wanted, () => this.turns.end(workspaceId, turn))
      },
      late: () => wanted.told(new NoTurn(), [])
    }
    this.turns.take(workspaceId, turn)
  }

  /** From a remembered answer, or from a look-up that is under way. */
  private isServed({ hostname, port, told }: Wanted): boolean {
    const key = keyOf(hostname, port)
    const known = this.answers.get(key)
    if (known !== undefined && this.options.now() < known.until) {
      told(null, known.addresses)
      return true
    }
    return this.running.get(key)?.push(told) !== undefined
  }

  private start({ hostname, port, told }: Wanted, over: () => void): void {
    const key = keyOf(hostname, port)
    const waiting = [told]
    this.running.set(key, waiting)
    this.options.resolve(hostname, (error, found) => {
      const addresses =
        error === null ? found.filter(({ address }) => !this.options.refuses(address, port, hostname)) : []
      this.running.delete(key)
      this.answers.set(key, { addresses, until: this.options.now() + keptFor(addresses) })
      over()
      for (const each of waiting) each(null, addresses)
    })
  }
}

const keyOf = (hostname: string, port: number) => `${hostname} ${port}`

const keptFor = (addresses: ReadonlyArray<Found>): number =>
  addresses.length === 0
    ? KEEP_FAILED_MS
    : Math.min(KEEP_MOST_MS, ...addresses.map(({ ttl = 0 }) => ttl * 1_000))
