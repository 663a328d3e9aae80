/**
 * Targets that the operator allows although the URL rules refuse them: `DELIVERY_ALLOWED_TARGETS`.
 *
 * A comma-separated list of networks and host names, each with or without a port: `10.1.2.0/24`, `127.0.0.1:8443`,
 * `[::1]`, `[fd00::]/64`, `[::1]:8443`, `[fd00::]/64:8443`, `receiver.internal`, `localhost:3000`. Without a port an
 * entry stands for every port. An entry waives the host clauses (3 to 5) for exactly this target, and `http:` with
 * `DELIVERY_ALLOW_HTTP`; credentials, length, redirects, deadlines and certificate checks are never waived.
 *
 * A host name is allowed whatever it resolves to; a network is allowed whatever the name. Nothing here resolves names. Pure, no
 * node: imports. Source: spec §10 and §2.8.
 */
import { Either } from "effect"
import {
  type Address,
  contains,
  type Network,
  networkOf,
  parseAddress,
  reachesLoopback
} from "./IpAddress.ts"

interface AllowedTarget {
  /** The entry as written. */
  readonly text: string
  readonly where: Network | string
  /** Null means every port. */
  readonly port: number | null
}

export interface AllowedTargets {
  readonly entries: ReadonlyArray<AllowedTarget>
  /** Whether `http:` is allowed, for these targets only. */
  readonly allowHttp: boolean
}

export const nothingAllowed: AllowedTargets = { entries: [], allowHttp: false }

/** Parses the list. Left is one line that says what is wrong with each bad entry, with an example. */
export const parseAllowedTargets = (
  list: string,
  allowHttp: boolean
): Either.Either<AllowedTargets, string> => {
  const texts = list.split(",").map((text) => text.trim())
  const parsed = texts.filter((text) => text !== "").map(parseEntry)
  const problems = parsed.filter((one) => typeof one === "string")
  if (problems.length > 0) return Either.left(problems.join(" "))
  return Either.right({ entries: parsed.filter((one) => typeof one !== "string"), allowHttp })
}

const EXAMPLE = "10.1.2.0/24, 127.0.0.1:8443, [::1]/128 or receiver.internal:443"

/** Address or bracketed IPv6 address or name; prefix length; port. */
const ENTRY = /^(?:\[([0-9a-f:.]+)\]|([^\s:/[\]@?#\\%]+))(?:\/(\d{1,3}))?(?::(\d{1,5}))?$/i
const NAME =
  /^(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)*$/

/** The entry, or what is wrong with it. */
const parseEntry = (text: string): AllowedTarget | string => {
  const bad = (what: string) => `"${shown(text)}" ${what}.`
  const parts = ENTRY.exec(text)
  if (parts === null) {
    if (text.includes("://"))
      return bad("is a URL: leave out the scheme and the path, such as localhost:3000")
    if (parseAddress(text) !== undefined) return bad(`is an IPv6 address without brackets: write [${text}]`)
    return bad(`is not a target: write a network or a host, with or without a port, such as ${EXAMPLE}`)
  }
  const [, v6, v4OrName, prefixText, portText] = parts
  const port = portText === undefined ? null : Number(portText)
  if (port === 0 || port! > 65_535)
    return bad("has no valid port: write one from 1 to 65535, such as 127.0.0.1:8443")
  const address = parseAddress(v6 ?? v4OrName!)
  if (address !== undefined && (address.length === 16) === (v6 !== undefined)) {
    const where = wholeNetwork(address, prefixText)
    return typeof where === "string" ? bad(where) : { text, where, port }
  }
  if (v6 !== undefined) return bad("is not an IPv6 address in brackets, such as [::1] or [fd00::]/64")
  const where = prefixText === undefined ? hostOf(v4OrName!) : undefined
  return where === undefined
    ? bad(`is neither an address nor a host name: such as ${EXAMPLE}`)
    : { text, where, port }
}

const wholeNetwork = (address: Address, prefixText: string | undefined): Network | string => {
  const bits = address.length * 8
  const prefix = prefixText === undefined ? bits : Number(prefixText)
  if (prefix > bits)
    return `has a prefix longer than ${bits} bits: such as ${bits === 32 ? "10.1.2.0/24" : "[fd00::]/64"}`
  const network = networkOf(address, prefix)
  if (contains({ address, prefix: bits }, network.address)) return network
  return `names an address inside a network: write the network's first address, or leave out /${prefix} for the one address`
}

/** A host name in the URL parser's ASCII form; undefined if it is not a host name. */
const hostOf = (name: string): string | undefined => {
  try {
    const host = new URL(`https://${name}`).hostname
    // The parser turns some names into addresses, such as 0x7f.1: those are addresses in disguise.
    return NAME.test(host) && parseAddress(host) === undefined ? host : undefined
  } catch {
    return undefined
  }
}

/** Keeps control characters and very long text out of a line for people. */
const shown = (text: string): string => {
  const plain = text.replace(/[^\x20-\x7e]/g, "?")
  return plain.length > 80 ? `${plain.slice(0, 77)}...` : plain
}

/** At connect time: whether this address, as a DNS lookup returned it, is allowed. */
export const allowsAddress = (targets: AllowedTargets, ip: string, port: number): boolean => {
  if (targets.entries.length === 0) return false
  const address = parseAddress(ip)
  return (
    address !== undefined &&
    targets.entries.some(
      ({ port: only, where }) =>
        typeof where !== "string" && (only === null || only === port) && contains(where, address)
    )
  )
}

/** Whether this host, as `URL.hostname` writes it (a name, or an address, IPv6 in brackets), is allowed. */
export const allowsHost = (targets: AllowedTargets, host: string, port: number): boolean =>
  targets.entries.some(({ port: only, where }) => where === host && (only === null || only === port)) ||
  allowsAddress(targets, host.replace(/^\[(.*)\]$/, "$1"), port)

/** Whether a network is larger than a /24 (IPv4) or a /64 (IPv6). */
export const isTooWide = ({ where }: AllowedTarget): boolean =>
  typeof where !== "string" && where.prefix < (where.address.length === 4 ? 24 : 64)

/** Whether the entry leads back to this machine. */
export const isLoopback = ({ where }: AllowedTarget): boolean =>
  typeof where === "string" ? LOOPBACK_NAME.test(where) : reachesLoopback(where)

const LOOPBACK_NAME =
  /^(?:(?:.+\.)?localhost|ip6-(?:localhost|loopback)|localhost[46]?(?:\.localdomain[46]?)?)$/

/** Entries that prevent a start in production, one sentence each. Source: spec §10. */
export const productionProblems = ({ entries }: AllowedTargets): ReadonlyArray<string> =>
  entries.flatMap((entry) => {
    if (isLoopback(entry))
      return [`"${shown(entry.text)}" allows loopback, which production does not: remove it.`]
    if (isTooWide(entry)) {
      return [
        `"${shown(entry.text)}" is wider than /24 or /64: allow only the receivers, such as 10.1.2.0/24.`
      ]
    }
    return []
  })

/** What `dev` allows: this machine, also over plain HTTP. */
export const loopbackTargets: AllowedTargets = Either.getOrThrow(
  parseAllowedTargets("127.0.0.0/8,[::1],localhost", true)
)
