/**
 * Caches what is known of each origin, and the parsed target of each URL string, so that a send need not parse it again.
 *
 * Both tables are bounded. The least recently used origin is dropped first, and its idle connections are closed. A dead origin
 * has no idle connections: all it takes is one entry, until `maxOrigins` others have been used.
 */
import { LRUCache } from "lru-cache"

/** Scheme, host and port, and what is kept from one connection to the next. */
export interface Origin {
  readonly url: string
  readonly secure: boolean
  /** As in the URL, without the brackets of an IPv6 literal. */
  readonly host: string
  readonly port: number
  /** The TLS session to resume: the latest one whose certificate was accepted. */
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

  /** The target of `url`, which is validated and serialised; anything else is a defect and throws. */
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

  /** A target may be cached longer than its origin. */
  private isKept(origin: Origin): boolean {
    return origin === this.latest || this.origins.peek(origin.url) === origin
  }

  private touch(origin: Origin): void {
    this.latest = origin
    this.origins.set(origin.url, origin)
  }
}
