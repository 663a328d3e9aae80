/**
 * The client address of a request: the connection's peer or, if that is one of `TRUSTED_PROXIES`, the client that the proxies
 * name.
 *
 * Every proxy appends the address it was called from, so the list is read from the right: the client is the last address
 * that is not trusted. Anything further left was written by the client itself. `Forwarded` wins over `X-Forwarded-For`. If an
 * entry is not an address, the peer counts as the client. Source: spec §7.1.
 */
import type { IncomingHttpHeaders } from "node:http"
import { contains, type Network, parseAddress } from "@posthorn/domain/IpAddress"

/** `"[2001:db8::1]:4711"`, `[::1]`, `192.0.2.1:4711` or a plain address, without quotes, brackets and port. */
const plainAddress = (text: string): string => {
  const unquoted = text.trim().replace(/^"(.*)"$/, "$1")
  const [, bracketed, dotted] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d+)?$/.exec(unquoted) ?? []
  return bracketed ?? dotted ?? unquoted
}

/** The `for=` value of each element of `Forwarded` (RFC 7239). */
const forwardedFor = (header: string): ReadonlyArray<string> =>
  header.split(",").map((element) => /(?:^|;)\s*for\s*=\s*("[^"]*"|[^;]*)/i.exec(element)?.[1] ?? "")

const hopsOf = ({ forwarded, "x-forwarded-for": list }: IncomingHttpHeaders): ReadonlyArray<string> => {
  if (forwarded !== undefined) return forwardedFor(forwarded)
  return list === undefined ? [] : String(list).split(",")
}

/** On a dual-stack socket an IPv4 client appears as `::ffff:192.0.2.1`. */
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
