/**
 * Name resolution that leaves out the addresses a receiver may not have.
 *
 * A public name may resolve to a private address. What is judged here is what is connected to: the lookup's own
 * answer, with no second resolution in between. Literal addresses need no lookup, so Connect.ts judges those.
 * Source: spec §2.8, last sentence.
 *
 * Concurrent lookups of one name are one lookup: getaddrinfo occupies one of libuv's four threads for as long as a
 * dead name server keeps it waiting, and a burst to one dead name would stop resolution for everybody.
 */
import { type LookupAddress, lookup } from "node:dns"
import type { LookupFunction } from "node:net"

/** Whether nobody may connect to this address. `hostname` is what the URL says, for targets allowed by name. */
export type Refuses = (address: string, port: number, hostname: string) => boolean

export type Resolve = (
  hostname: string,
  callback: (error: Error | null, addresses: ReadonlyArray<LookupAddress>) => void
) => void

/**
 * The name has no address that may be connected to. Whether it has none at all or only refused ones is not told apart,
 * neither in the record nor by when it fails: whoever may choose the name could otherwise ask which inner names exist.
 */
export class ResolutionFailed extends Error {
  override readonly name = "ResolutionFailed"
}

/** The literal address is of a refused class. */
export class AddressRefused extends Error {
  override readonly name = "AddressRefused"
}

export const systemResolve: Resolve = (hostname, callback) => lookup(hostname, { all: true }, callback)

/** `resolve`, with one lookup in flight per name. */
export const sharing = (resolve: Resolve): Resolve => {
  const waiting = new Map<string, Array<Parameters<Resolve>[1]>>()
  return (hostname, callback) => {
    const others = waiting.get(hostname)
    if (others !== undefined) return void others.push(callback)
    const callbacks = [callback]
    waiting.set(hostname, callbacks)
    resolve(hostname, (error, addresses) => {
      waiting.delete(hostname)
      for (const each of callbacks) each(error, addresses)
    })
  }
}

/** A `lookup` for net.connect: the addresses that `refuses` lets through, or an error when none is left. */
export const guardedLookup =
  (resolve: Resolve, refuses: Refuses, port: number): LookupFunction =>
  (hostname, options, callback) =>
    resolve(hostname, (error, addresses) => {
      const allowed =
        error === null ? addresses.filter(({ address }) => !refuses(address, port, hostname)) : []
      const first = allowed[0]
      if (first === undefined) return callback(new ResolutionFailed(), [])
      if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })
