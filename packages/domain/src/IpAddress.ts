/**
 * IP addresses as bytes, networks, and the addresses that Posthorn never delivers to.
 *
 * Posthorn delivers only to globally reachable unicast addresses. It refuses addresses that the IANA special-purpose registries
 * mark as not globally reachable, multicast, and every IPv6 form that embeds an IPv4 address, because a router may unpack it.
 * Two public addresses are refused because of the services that clouds have on them. It is stricter than the registries for
 * 192.0.0.0/24 and 2001::/23: both are refused entirely, because their few reachable entries are relays and identifiers, never
 * web servers. It is more lenient for documentation ranges: they pass, since spec §2.1 does not refuse them.
 *
 * It has its own parser: `ipaddr.js` 2.5.0 reads `::192.0.2.1` as `::ffff:192.0.2.1`, and accepts octal and hexadecimal parts.
 * This one accepts only plain spellings, as DNS lookups and the WHATWG URL parser write them. Pure, without node: imports,
 * because the console uses it too. Source: spec §2.1 and §2.8 (4).
 */

/** 4 or 16 bytes. */
export type Address = ReadonlyArray<number>

export interface Network {
  readonly address: Address
  readonly prefix: number
}

const OCTET = /^(?:0|[1-9]\d{0,2})$/
const GROUP = /^[0-9a-f]{1,4}$/i

/** The bytes of `192.0.2.1` or `2001:db8::1`; undefined for any other text, a zone (`%eth0`) included. */
export const parseAddress = (text: string): Address | undefined =>
  text.includes(":") ? parseV6(text) : parseV4(text)

const parseV4 = (text: string): Address | undefined => {
  const parts = text.split(".")
  if (parts.length !== 4 || !parts.every((part) => OCTET.test(part) && Number(part) < 256)) return undefined
  return parts.map(Number)
}

const parseV6 = (text: string): Address | undefined => {
  if (text.length > 45) return undefined
  const halves = text.split("::").map(parseGroups)
  const [head, tail] = halves
  if (halves.length > 2 || head === undefined || (halves.length === 2 && tail === undefined)) return undefined
  if (tail === undefined) return head.length === 16 ? head : undefined
  const missing = 16 - head.length - tail.length
  return missing < 2 ? undefined : [...head, ...Array<number>(missing).fill(0), ...tail]
}

/** Groups between colons, the last of which may be written as an IPv4 address. */
const parseGroups = (
  text: string,
  index: number,
  halves: ReadonlyArray<string>
): Array<number> | undefined => {
  if (text === "") return []
  const groups = text.split(":")
  const bytes: Array<number> = []
  for (const [position, group] of groups.entries()) {
    const last = index === halves.length - 1 && position === groups.length - 1
    const dotted = last && group.includes(".") ? parseV4(group) : undefined
    if (dotted !== undefined) bytes.push(...dotted)
    else if (GROUP.test(group)) bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 255)
    else return undefined
  }
  return bytes
}

/** Whether the first `bits` of two addresses of one family are the same. */
const samePrefix = (a: Address, b: Address, bits: number): boolean => {
  if (a.length !== b.length) return false
  const whole = bits >> 3
  for (let i = 0; i < whole; i++) if (a[i] !== b[i]) return false
  const rest = bits & 7
  return rest === 0 || (a[whole]! ^ b[whole]!) >> (8 - rest) === 0
}

export const contains = (network: Network, address: Address): boolean =>
  samePrefix(network.address, address, network.prefix)

export const overlap = (a: Network, b: Network): boolean =>
  samePrefix(a.address, b.address, Math.min(a.prefix, b.prefix))

/** The first address of the network with this prefix length. */
export const networkOf = (address: Address, prefix: number): Network => ({
  address: address.map((byte, index) => byte & (0xff00 >> Math.min(8, Math.max(0, prefix - index * 8)))),
  prefix
})

/** The network of `10.0.0.0/8`, `[fd00::]/8` or a single address; undefined for any other text. */
export const parseNetwork = (text: string): Network | undefined => {
  const [, v6, plain, prefix] = /^(?:\[([^\]]*)\]|([^/[\]]*))(?:\/(\d{1,3}))?$/.exec(text) ?? []
  const address = parseAddress(v6 ?? plain ?? "")
  const bits = (address?.length ?? 0) * 8
  return address === undefined || Number(prefix ?? 0) > bits
    ? undefined
    : networkOf(address, prefix === undefined ? bits : Number(prefix))
}

/** A network of this file's tables. */
const network = (text: string): Network => parseNetwork(text)!

const REFUSED_V4 = [
  "0.0.0.0/8", // this network; Linux connects 0.0.0.0 to itself
  "10.0.0.0/8", // private
  "100.64.0.0/10", // shared by carrier-grade NAT; Alibaba's metadata at 100.100.100.200
  "127.0.0.0/8", // loopback
  "168.63.129.16/32", // Azure's wire server, inside public space
  "169.254.0.0/16", // link-local; metadata of most clouds
  "172.16.0.0/12", // private
  "192.0.0.0/24", // protocol assignments; Oracle's metadata at 192.0.0.192
  "192.88.99.0/24", // 6to4 relays, given up
  "192.168.0.0/16", // private
  "198.18.0.0/15", // benchmarks
  "224.0.0.0/4", // multicast
  "240.0.0.0/4" // reserved, and broadcast
].map(network)

/** All IPv6 outside of this is refused: loopback, ULA, link-local, multicast, mapped, NAT64, SIIT. */
const UNICAST_V6 = network("2000::/3")

const REFUSED_V6 = [
  "2001::/23", // protocol assignments: Teredo, benchmarks, ORCHID
  "2002::/16" // 6to4
].map(network)

/** ISATAP: the interface id 0000:5efe or 0200:5efe, under any prefix, before an IPv4 address. */
const isIsatap = (address: Address): boolean =>
  (address[8]! & 0xfd) === 0 && address[9] === 0 && address[10] === 0x5e && address[11] === 0xfe

/** Whether Posthorn never delivers to this address, unless the operator allows it. */
const isRefused = (address: Address): boolean => {
  if (address.length === 4) return REFUSED_V4.some((refused) => contains(refused, address))
  if (!contains(UNICAST_V6, address) || isIsatap(address)) return true
  return REFUSED_V6.some((refused) => contains(refused, address))
}

/** The same for text from a DNS lookup; anything but a plain address is refused. */
export const isRefusedAddress = (ip: string): boolean => {
  const address = parseAddress(ip)
  return address === undefined || isRefused(address)
}

const LOOPBACK = [
  "127.0.0.0/8",
  "0.0.0.0/32", // Linux and macOS connect the unspecified address to loopback
  "::1/128",
  "::/128",
  "::ffff:127.0.0.0/104", // IPv4-mapped
  "::ffff:0.0.0.0/128"
].map(network)

/** Whether any address of the network leads back to this machine. */
export const reachesLoopback = (target: Network): boolean =>
  LOOPBACK.some((loopback) => overlap(loopback, target))
