/**
 * Connects to that address of a name which answers first (RFC 8305, Happy Eyeballs).
 *
 * An address that has not answered after `NEXT_AFTER_MS` stays in the race, and the next one is tried beside it. Node's own way gives
 * each address but the last 250 ms, which is less than a handshake to the other side of the world takes. Families take turns, in
 * the order of the look-up's answer. An address that failed lately, or lost to one that began later, comes last.
 *
 * A race holds at most `MOST` sockets. It has no deadline: Exchange.ts keeps it.
 */
import type { LookupAddress } from "node:dns"
import { connect, isIP, type LookupFunction, type Socket } from "node:net"
import { LRUCache } from "lru-cache"

/** The "Connection Attempt Delay" that RFC 8305 recommends. */
const NEXT_AFTER_MS = 250
const MOST = 6
const REMEMBERED_MS = 60_000
/** About 1 MB. */
const REMEMBERED = 10_000

export interface Target {
  readonly host: string
  readonly port: number
  readonly lookup: LookupFunction
}

/** One of the two is called, once, asynchronously, and neither after `destroy`. */
interface RaceOutcome {
  readonly connected: (socket: Socket) => void
  readonly failed: (error: Error) => void
}

export class AddressRace {
  /** Keys: address and port. */
  private readonly failedLately: LRUCache<string, true>

  /** `now`: milliseconds that only go forward. */
  constructor(now: () => number) {
    this.failedLately = new LRUCache({ max: REMEMBERED, ttl: REMEMBERED_MS, perf: { now } })
  }

  /** The result's `destroy` gives the race up, or ends the connection. */
  connect(
    { host, lookup, port }: Target,
    { connected, failed }: RaceOutcome
  ): { readonly destroy: () => void } {
    /** In the order in which they began. */
    const racing = new Map<Socket, string>()
    let left: Array<LookupAddress> = []
    let timer: NodeJS.Timeout | undefined
    let firstError: Error | undefined
    let ended = false

    /** Remembers those that began before the winner: with none, all. */
    const end = (winner?: Socket) => {
      ended = true
      clearTimeout(timer)
      let isLate = false
      for (const [socket, key] of racing) {
        if (socket === winner) isLate = true
        else {
          if (!isLate) this.failedLately.set(key, true)
          socket.destroy()
        }
      }
      racing.clear()
    }
    const fail = (error: Error) =>
      queueMicrotask(() => {
        if (ended) return
        ended = true
        failed(error)
      })
    const tryNext = () => {
      clearTimeout(timer)
      const next = left.shift()
      if (next === undefined) {
        if (racing.size === 0) fail(firstError!)
        return
      }
      const key = keyOf(next.address, port)
      const socket = connect({ host: next.address, port })
      racing.set(socket, key)
      const lost = (error: Error) => {
        if (!racing.delete(socket)) return
        this.failedLately.set(key, true)
        firstError ??= error
        tryNext()
      }
      socket.once("error", lost)
      socket.once("connect", () => {
        socket.removeListener("error", lost)
        this.failedLately.delete(key)
        end(socket)
        winner = socket
        socket.setNoDelay(true)
        connected(socket)
      })
      if (left.length > 0) timer = setTimeout(tryNext, NEXT_AFTER_MS)
    }
    const begin = (addresses: ReadonlyArray<LookupAddress>) => {
      if (ended) return
      left = this.ordered(addresses, port)
      tryNext()
    }

    let winner: Socket | undefined
    const family = isIP(host)
    if (family !== 0) begin([{ address: host, family }])
    else
      lookup(host, { all: true }, (error, addresses) =>
        error === null ? begin(addresses as ReadonlyArray<LookupAddress>) : fail(error)
      )
    return {
      destroy: () => {
        if (!ended) end()
        winner?.destroy()
      }
    }
  }

  private ordered(addresses: ReadonlyArray<LookupAddress>, port: number): Array<LookupAddress> {
    const hasFailed = ({ address }: LookupAddress) => this.failedLately.has(keyOf(address, port))
    const inTurn = alternating(addresses)
    return [...inTurn.filter((each) => !hasFailed(each)), ...inTurn.filter(hasFailed)].slice(0, MOST)
  }
}

const alternating = (addresses: ReadonlyArray<LookupAddress>): ReadonlyArray<LookupAddress> => {
  const first = addresses.filter(({ family }) => family === addresses[0]?.family)
  const second = addresses.filter(({ family }) => family !== addresses[0]?.family)
  return addresses.flatMap((_, n) => [first[n] ?? [], second[n] ?? []].flat())
}

const keyOf = (address: string, port: number) => `${address} ${port}`
