/**
 * Caches what is known of each origin, and the parsed target of each URL string, so that a send need not parse it again.
 *
 * Both tables are bounded. The least recently used origin is dropped first, and its idle connections are closed. A dead origin
 * has no idle connections: all it takes is one entry, until `maxOrigins` others have been used.
 */
import type { SecureContext } from "node:tls"
import { LRUCache } from "lru-cache"
import type { ClientCertificate } from "./ClientCertificate.ts"

/** A client certificate. Connections of different ones are never shared, so each has origins of its own. */
export interface ClientIdentity extends ClientCertificate {
  readonly id: string
}

/** Scheme, host and port, and what is kept from one connection to the next. */
export interface Origin {
  /** Its URL, and whose client certificate it gets. */
  readonly key: string
  readonly url: string
  readonly secure: boolean
  /** As in the URL, without the brackets of an IPv6 literal. */
  readonly host: string
  readonly port: number
  /** The TLS session to resume: the latest one whose certificate was accepted. */
  session: Buffer | undefined
  /** With a client certificate; else null. */
  readonly secureContext: SecureContext | null
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
  private readonly secureContext: (client: ClientIdentity) => SecureContext

  constructor(
    limit: number,
    evicted: (origin: Origin) => void,
    secureContext: (client: ClientIdentity) => SecureContext
  ) {
    this.secureContext = secureContext
    this.origins = new LRUCache({
      max: limit,
      disposeAfter: (origin, _, reason) => {
        if (reason === "evict") evicted(origin)
      }
    })
    this.targets = new LRUCache({ max: 4 * limit })
  }

  /** The target of `url`, which is validated and serialised; anything else is a defect and throws. */
  target(url: string, client?: ClientIdentity): Target {
    const key = client === undefined ? url : `${client.id} ${url}`
    const known = this.targets.get(key)
    if (known === undefined || !this.isKept(known.origin)) return this.learn(key, url, client)
    if (known.origin !== this.latest) this.touch(known.origin)
    return known
  }

  private learn(targetKey: string, url: string, client: ClientIdentity | undefined): Target {
    const parsed = new URL(url)
    const key = client === undefined ? parsed.origin : `${client.id} ${parsed.origin}`
    const origin = this.origins.peek(key) ?? this.originOf(key, parsed, client)
    this.touch(origin)
    // `search` is empty for a URL that ends in `?`.
    const target = { origin, path: parsed.href.slice(parsed.origin.length) }
    this.targets.set(targetKey, target)
    return target
  }

  private originOf(
    key: string,
    { origin, protocol, hostname, port }: URL,
    client: ClientIdentity | undefined
  ): Origin {
    const secure = protocol === "https:"
    const number = port === "" ? (secure ? 443 : 80) : Number(port)
    const host = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname
    return {
      key,
      url: origin,
      secure,
      host,
      port: number,
      session: undefined,
      secureContext: client === undefined ? null : this.secureContext(client)
    }
  }

  /** A target may be cached longer than its origin. */
  private isKept(origin: Origin): boolean {
    return origin === this.latest || this.origins.peek(origin.key) === origin
  }

  private touch(origin: Origin): void {
    this.latest = origin
    this.origins.set(origin.key, origin)
  }
}
