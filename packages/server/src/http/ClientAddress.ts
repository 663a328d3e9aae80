/**
 * Which address a request comes from: the peer of its connection or, when that is a proxy of `TRUSTED_PROXIES`, the client
 * that its proxies name.
 *
 * Every proxy appends the address it was called from, so the list is read from the right: the client is the last address
 * that is not trusted. Whatever stands further left the client has written itself. `Forwarded` wins over `X-Forwarded-For`;
 * where an entry is no address, the peer counts as the client. Source: spec §7.1.
 */
import type { IncomingHttpHeaders } from "node:http"
import { contains, type Network, parseAddress } from "@posthorn/domain/IpAddress"

/** `"[2001:db8::1]:4711"`, `[::1]`, `192.0.2.1:4711` or a plain address, without quotes, brackets and port. */
const plainAddress = (text: string): string => {
  const unquoted = text.trim().replace(/^"(.*)"$/, "$1")
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(unquoted) ?? []
  return bracketed ?? dotted ?? unquoted
}

/** What each element of `Forwarded` (RFC 7239) says after `for=`. */
const forwardedFor = (header: string): ReadonlyArray<string> =>
  header.split(",").map((element) => /(?:^|;)\s*for\s*=\s*("[^"]*"|[^;]*)/i.exec(element)?.[1] ?? "")

const hopsOf = ({ forwarded, "x-forwarded-for": list }: IncomingHttpHeaders): ReadonlyArray<string> => {
  if (forwarded !== undefined) return forwardedFor(forwarded)
  return list === undefined ? [] : String(list).split(",")
}

/** An IPv4 client of a socket for both families is written `::ffff:192.0.2.1`. */
const unmapped = (address: string) => address.replace(/^::ffff:(?=\d+\.)/i, "")

export const clientAddress = (
  peer: string,
  headers: IncomingHttpHeaders,
  trusted: ReadonlyArray<Network>
): string => {
  const isTrusted = (text: string) => {
    const address = parseAddress(unmapped(text))
    return address !== undefined && trusted.some((network) => contains(network, address))
  }
  if (trusted.length === 0 || !isTrusted(peer)) return peer
  const hops = hopsOf(headers).map(plainAddress)
  const client = hops.findLast((hop) => !isTrusted(hop)) ?? hops[0]
  return client !== undefined && parseAddress(unmapped(client)) !== undefined ? client : peer
}
