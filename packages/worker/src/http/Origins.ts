/**
 * What is known of each origin, and where a URL string leads, without parsing it again at every send.
 *
 * Both tables are bounded. Origins leave in order of last use, and with one go the connections it kept idle. A dead
 * origin keeps none, so it costs a live one nothing but its place, once `maxOrigins` others were used since.
 */
import { LRUCache } from "lru-cache"

/** Scheme, host and port, and what is kept between its connections. */
export interface Origin {
  readonly url: string
  readonly secure: boolean
  /** As the URL says, without the brackets of an IPv6 literal. */
  readonly host: string
  readonly port: number
  /** The latest TLS session of a connection whose certificate was accepted, to resume from. */
  session: Buffer | undefined
}

export interface Target {
  readonly origin: Origin
  /** Path and query, as they go into the request line. */
  readonly path: string
}

export class Origins {
  private readonly origins: LRUCache<string, Origin>
  /** Several endpoints may share an origin. */
  private readonly targets: LRUCache<string, Target>
  private latest: Origin | undefined

  constructor(limit: number, evicted: (origin: Origin) => void) {
    this.origins = new LRUCache({
      max: limit,
      disposeAfter: (origin, _, reason) => {
        if (reason === "evict") evicted(origin)
      }
    })
    this.targets = new LRUCache({ max: 4 * limit })
  }

  /** Where `url` leads. It is a validated, serialised URL; anything else is a defect and throws. */
  target(url: string): Target {
    const known = this.targets.get(url)
    if (known === undefined || !this.isKept(known.origin)) return this.learn(url)
    if (known.origin !== this.latest) this.touch(known.origin)
    return known
  }

  private learn(url: string): Target {
    const parsed = new URL(url)
    const origin = this.origins.peek(parsed.origin) ?? this.originOf(parsed)
    this.touch(origin)
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
      session: undefined
    }
  }

  /** A target may outlive its origin. */
  private isKept(origin: Origin): boolean {
    return origin === this.latest || this.origins.peek(origin.url) === origin
  }

  private touch(origin: Origin): void {
    this.latest = origin
    this.origins.set(origin.url, origin)
  }
}
