/**
 * What is known of each origin, and where a URL string leads, without parsing it again at every send.
 *
 * Both tables are bounded. Origins leave in order of last use, and with one go the connections it kept idle. A dead
 * origin keeps none, so it costs a live one nothing but its place, once `maxOrigins` others were used since.
 */
import type { LookupFunction } from "node:net"

/** Scheme, host and port, and what is kept between its connections. */
export interface Origin {
  readonly url: string
  readonly secure: boolean
  /** As the URL says, without the brackets of an IPv6 literal. */
  readonly host: string
  readonly port: number
  readonly lookup: LookupFunction
  /** The latest TLS session of a connection whose certificate was accepted, to resume from. */
  session: Buffer | undefined
}

export interface Target {
  readonly origin: Origin
  /** Path and query, as they go into the request line. */
  readonly path: string
}

export class Origins {
  private readonly origins = new Map<string, Origin>()
  private readonly targets = new Map<string, Target>()
  private latest: Origin | undefined
  private readonly limit: number
  private readonly lookupTo: (port: number) => LookupFunction
  private readonly evicted: (origin: Origin) => void

  constructor(limit: number, lookupTo: (port: number) => LookupFunction, evicted: (origin: Origin) => void) {
    this.limit = limit
    this.lookupTo = lookupTo
    this.evicted = evicted
  }

  /** Where `url` leads. It is a validated, serialised URL; anything else is a defect and throws. */
  target(url: string): Target {
    const known = this.targets.get(url)
    if (known === undefined) return this.learn(url)
    if (known.origin !== this.latest) this.touch(known.origin)
    return known
  }

  private learn(url: string): Target {
    const parsed = new URL(url)
    const origin = this.origins.get(parsed.origin) ?? this.originOf(parsed)
    this.touch(origin)
    // Several endpoints may share an origin; the oldest entry goes, whoever uses it parses once more.
    if (this.targets.size >= 4 * this.limit) this.targets.delete(this.targets.keys().next().value!)
    const target = { origin, path: parsed.pathname + parsed.search }
    this.targets.set(url, target)
    return target
  }

  private originOf({ origin, protocol, hostname, port }: URL): Origin {
    const secure = protocol === "https:"
    const number = port === "" ? (secure ? 443 : 80) : Number(port)
    const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname
    return {
      url: origin,
      secure,
      host,
      port: number,
      lookup: this.lookupTo(number),
      session: undefined
    }
  }

  /** A Map keeps the order of insertion: the first key is the one not used for longest. */
  private touch(origin: Origin): void {
    this.latest = origin
    this.origins.delete(origin.url)
    this.origins.set(origin.url, origin)
    if (this.origins.size <= this.limit) return
    const [key, oldest] = this.origins.entries().next().value!
    this.origins.delete(key)
    this.evicted(oldest)
  }
}
