/**
 * Resolves names as this machine would, without libuv's threads: `dns.lookup` has four for the whole process, and an unanswered
 * name occupies one for as long as the C library waits.
 *
 * - `/etc/hosts` first, and `localhost` is this machine, as RFC 6761 says.
 * - Then DNS, by c-ares: the servers, `search` and `ndots` of `/etc/resolv.conf`, in the C library's order. A name that
 *   ends in a dot is not searched for.
 * - A name that is not answered within `DEADLINE_MS` fails.
 *
 * Both files are read again after a change. Other sources of `nsswitch.conf` are not used.
 */
import { type RecordWithTtl, Resolver } from "node:dns"
import { readFileSync, statSync } from "node:fs"
import { isIP } from "node:net"
import type { Found, Resolve } from "./Names.ts"

/** Half of an attempt's deadline. */
const DEADLINE_MS = 5_000
/** First timeout of a query, after which the server is asked again; c-ares doubles it each time. */
const TRY_MS = 1_000
const TRIES = 3
/** How long a file's entry is remembered, in seconds. */
const FILE_TTL = 5

export interface Sources {
  readonly hosts?: string
  readonly resolvConf?: string
  /** Replaces the servers of `resolvConf`, for tests. */
  readonly servers?: ReadonlyArray<string>
  readonly deadlineMs?: number
}

export const systemNames = ({
  hosts = "/etc/hosts",
  resolvConf = "/etc/resolv.conf",
  servers,
  deadlineMs = DEADLINE_MS
}: Sources = {}): Resolve => {
  const inHosts = parsed(hosts, parseHosts)
  const search = parsed(resolvConf, parseSearch)

  /** Each look-up has its own resolver: it can be cancelled alone, and its socket has its own port. */
  const ask = (names: ReadonlyArray<string>, callback: Parameters<Resolve>[1]) => {
    const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
    if (servers !== undefined) resolver.setServers(servers)
    const deadline = setTimeout(() => resolver.cancel(), deadlineMs)
    const end: Parameters<Resolve>[1] = (error, found) => {
      clearTimeout(deadline)
      callback(error, found)
    }
    const next = ([name, ...others]: ReadonlyArray<string>): void =>
      both(resolver, name!, (error, found) =>
        error !== null && others.length > 0 && ABSENT.has(error.code ?? "") ? next(others) : end(error, found)
      )
    next(names)
  }

  return (hostname, callback) => {
    const known = inHosts().get(hostname) ?? (isThisMachine(hostname) ? LOOPBACK : undefined)
    if (known !== undefined) return callback(null, known)
    ask(spellings(hostname, search()), callback)
  }
}

/** The name does not exist. After any other error the next spelling is not tried. */
const ABSENT = new Set(["ENOTFOUND", "ENODATA"])

/** Both families, IPv4 first: net.connect tries the next address when one cannot be reached. */
const both = (resolver: Resolver, name: string, callback: Parameters<Resolve>[1]) => {
  const answers: Array<ReadonlyArray<Found>> = []
  let failure: NodeJS.ErrnoException | null = null
  let open = 2
  const answered =
    (family: 4 | 6) => (error: NodeJS.ErrnoException | null, records?: ReadonlyArray<RecordWithTtl>) => {
      if (error === null) answers[family] = (records ?? []).map((record) => ({ ...record, family }))
      else if (failure === null || ABSENT.has(failure.code ?? "")) failure = error
      if (--open > 0) return
      const found = answers.flat()
      callback(found.length > 0 ? null : failure, found)
    }
  resolver.resolve4(name, { ttl: true }, answered(4))
  resolver.resolve6(name, { ttl: true }, answered(6))
}

const isThisMachine = (hostname: string) => /(^|\.)localhost\.?$/.test(hostname)

const LOOPBACK: ReadonlyArray<Found> = [
  { address: "127.0.0.1", family: 4, ttl: FILE_TTL },
  { address: "::1", family: 6, ttl: FILE_TTL }
]

interface Search {
  readonly domains: ReadonlyArray<string>
  readonly ndots: number
}

const spellings = (hostname: string, { domains, ndots }: Search): ReadonlyArray<string> => {
  if (hostname.endsWith(".")) return [hostname.slice(0, -1)]
  const searched = domains.map((domain) => `${hostname}.${domain}`)
  return hostname.split(".").length > ndots ? [hostname, ...searched] : [...searched, hostname]
}

/** A parsed file, read again after a change. A missing file counts as empty. */
const parsed = <A>(path: string, parse: (lines: ReadonlyArray<ReadonlyArray<string>>) => A): (() => A) => {
  let changed = Number.NaN
  let value = parse([])
  return () => {
    const { ctimeMs } = statSync(path, { throwIfNoEntry: false }) ?? { ctimeMs: -1 }
    if (ctimeMs === changed) return value
    changed = ctimeMs
    const text = ctimeMs === -1 ? "" : readFileSync(path, "utf8")
    value = parse(
      text.split("\n").map((line) =>
        line
          .replace(/[#;].*/, "")
          .split(/\s+/)
          .filter(Boolean)
      )
    )
    return value
  }
}

const parseHosts = (lines: ReadonlyArray<ReadonlyArray<string>>): ReadonlyMap<string, Array<Found>> => {
  const names = new Map<string, Array<Found>>()
  for (const [address = "", ...hostnames] of lines) {
    const family = isIP(address)
    if (family === 0) continue
    for (const hostname of hostnames.map((each) => each.toLowerCase())) {
      const known = names.get(hostname)
      if (known === undefined) names.set(hostname, [{ address, family, ttl: FILE_TTL }])
      else known.push({ address, family, ttl: FILE_TTL })
    }
  }
  return names
}

const parseSearch = (lines: ReadonlyArray<ReadonlyArray<string>>): Search => {
  const last = (...keys: ReadonlyArray<string>) =>
    lines.findLast(([key]) => keys.includes(key ?? ""))?.slice(1)
  const ndots = lines
    .filter(([key]) => key === "options")
    .flat()
    .findLast((option) => option.startsWith("ndots:"))
  return { domains: last("search", "domain") ?? [], ndots: Math.min(15, Number(ndots?.slice(6) ?? 1)) || 0 }
}
