/**
 * Name resolution that leaves out the addresses a receiver may not have, and that one workspace cannot use up.
 *
 * A public name may resolve to a private address. What is judged here is what is connected to: the look-up's own
 * answer, with no second resolution in between. Literal addresses need no look-up, so Connect.ts judges those.
 *
 * - A workspace has at most `LOOKUPS` look-ups under way. Another one waits for its turn, `TURN_MS` at most, and then
 *   fails with `NoTurn`: nothing was asked, so that is no failure of the endpoint.
 * - A look-up that is under way serves whoever wants the same name and port. Only its first caller needs a turn.
 * - Answers are remembered for their TTL, and failures for a few seconds. Refused addresses are remembered as a name
 *   that has none: how long a second attempt takes must not tell which internal names exist.
 *
 * Source: spec §2.8, last rules.
 */
import type { LookupAddress } from "node:dns"
import type { LookupFunction } from "node:net"
import { LRUCache } from "lru-cache"

/** Whether nobody may connect to this address. `hostname` is what the URL says, for targets allowed by name. */
export type Refuses = (address: string, port: number, hostname: string) => boolean

/** An address with the time it may be remembered for, in seconds. */
export interface Found extends LookupAddress {
  readonly ttl?: number
}

/** Calls back once, within a deadline of its own. */
export type Resolve = (
  hostname: string,
  callback: (error: NodeJS.ErrnoException | null, found: ReadonlyArray<Found>) => void
) => void

/**
 * The name has no address that may be connected to. Whether it has none at all or only refused ones is not told apart,
 * neither in the record nor by when it fails: whoever may choose the name could otherwise ask which inner names exist.
 */
export class ResolutionFailed extends Error {
  override readonly name = "ResolutionFailed"
}

/** The workspace has too many look-ups under way: this name was not asked for. */
export class NoTurn extends Error {
  override readonly name = "NoTurn"
}

/** The literal address is of a refused class. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused"
}

/** Look-ups that a workspace may have under way. With an answer in 20 ms that is 800 new names a second. */
export const LOOKUPS = 16
/** How long a look-up waits for its turn: it has a slot of the worker meanwhile. */
export const TURN_MS = 1_000
/** A move to another address is noticed within this time, whatever the TTL says. */
const KEEP_MOST_MS = 60_000
/** For names without an address: who has just added one does not wait long. */
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
  timer?: NodeJS.Timeout
}

/** The look-ups of one workspace. */
interface Budget {
  running: number
  /** In the order of their turns. */
  readonly waiting: Set<Wanted>
}

export interface NamesOptions {
  readonly resolve: Resolve
  readonly refuses: Refuses
  /** Milliseconds that only go forward. */
  readonly now: () => number
}

export class Names {
  private readonly answers = new LRUCache<string, Answer>({ max: NAMES })
  private readonly running = new Map<string, Array<Told>>()
  private readonly budgets = new Map<string, Budget>()
  private readonly options: NamesOptions

  constructor(options: NamesOptions) {
    this.options = options
  }

  /** A `lookup` for net.connect: the addresses that may be connected to, or an error when there is none. */
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
    const budget = this.budgetOf(workspaceId)
    if (budget.running < LOOKUPS) this.start(workspaceId, budget, wanted)
    else this.queue(budget, wanted)
  }

  private queue(budget: Budget, wanted: Wanted): void {
    wanted.timer = setTimeout(() => {
      budget.waiting.delete(wanted)
      wanted.told(new NoTurn(), [])
    }, TURN_MS)
    budget.waiting.add(wanted)
  }

  /** By an answer that is remembered, or by a look-up that is under way. */
  private isServed({ hostname, port, told }: Wanted): boolean {
    const key = keyOf(hostname, port)
    const known = this.answers.get(key)
    if (known !== undefined && this.options.now() < known.until) {
      told(null, known.addresses)
      return true
    }
    return this.running.get(key)?.push(told) !== undefined
  }

  private budgetOf(workspaceId: string): Budget {
    const known = this.budgets.get(workspaceId)
    if (known !== undefined) return known
    const budget = { running: 0, waiting: new Set<Wanted>() }
    this.budgets.set(workspaceId, budget)
    return budget
  }

  private start(workspaceId: string, budget: Budget, { hostname, port, told }: Wanted): void {
    const key = keyOf(hostname, port)
    const waiting = [told]
    this.running.set(key, waiting)
    budget.running++
    this.options.resolve(hostname, (error, found) => {
      const addresses =
        error === null ? found.filter(({ address }) => !this.options.refuses(address, port, hostname)) : []
      this.running.delete(key)
      this.answers.set(key, { addresses, until: this.options.now() + keptFor(addresses) })
      budget.running--
      this.takeTurns(workspaceId, budget)
      for (const each of waiting) each(null, addresses)
    })
  }

  private takeTurns(workspaceId: string, budget: Budget): void {
    for (const next of budget.waiting) {
      if (budget.running >= LOOKUPS) return
      budget.waiting.delete(next)
      clearTimeout(next.timer)
      if (!this.isServed(next)) this.start(workspaceId, budget, next)
    }
    if (budget.running === 0) this.budgets.delete(workspaceId)
  }
}

const keyOf = (hostname: string, port: number) => `${hostname} ${port}`

const keptFor = (addresses: ReadonlyArray<Found>): number =>
  addresses.length === 0
    ? KEEP_FAILED_MS
    : Math.min(KEEP_MOST_MS, ...addresses.map(({ ttl = 0 }) => ttl * 1_000))
