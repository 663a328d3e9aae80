/**
 * A cache of endpoints by version, so that an unchanged endpoint is neither sent nor decoded again for each delivery. The
 * database compares the version at each load, and the version is a hash of the cached values. So the cache is never stale, even
 * after the database was restored to an earlier day. It is bounded: the least recently used endpoints are forgotten. A load's
 * endpoints are not forgotten before its answer, as long as the load has fewer than the cache holds.
 */
import type { EndpointId } from "@posthorn/domain/Ids"
import { Schema } from "effect"
import { LRUCache } from "lru-cache"
import { Bytes, Count } from "../../client/internal/Columns.ts"
import type { RowOf } from "../../client/Prepared.ts"

/** An endpoint at dispatch. It is the same object as long as nothing of it changes. */
export interface DispatchEndpoint {
  readonly url: string
  readonly enabled: boolean
  readonly generation: number
  /** Sealed by SecretBox. */
  readonly secret: Uint8Array
  /** Null once the grace window is over. */
  readonly previousSecret: Uint8Array | null
}

const MOST = 20_000

/** Practically no endpoint has this version: versions are 64-bit hashes. */
const UNKNOWN = "0"

/** `posthorn.loaded`. The members after `version` are null if the caller knows this version. */
export const LOADED = [
  ["place", Count],
  ["event_type", Schema.String],
  ["payload", Schema.String],
  ["trace_id", Schema.String],
  ["test", Schema.Boolean],
  ["failures", Count],
  ["version", Schema.String],
  ["url", Schema.NullOr(Schema.String)],
  ["enabled", Schema.NullOr(Schema.Boolean)],
  ["generation", Schema.NullOr(Count)],
  ["secret", Schema.NullOr(Bytes)],
  ["previous_secret", Schema.NullOr(Bytes)]
] as const
export type LoadedRow = RowOf<typeof LOADED>

interface Known {
  readonly version: string
  readonly endpoint: DispatchEndpoint
}

export class KnownEndpoints {
  private readonly known = new LRUCache<string, Known>({ max: MOST })

  /** As text, because it does not fit into a number. */
  version(endpointId: EndpointId): string {
    return this.known.get(endpointId)?.version ?? UNKNOWN
  }

  now(endpointId: EndpointId, row: LoadedRow): DispatchEndpoint {
    const [, , , , , , version, url, enabled, generation, secret, previousSecret] = row
    const known = this.known.get(endpointId)
    if (known !== undefined && known.version === version) return known.endpoint
    const endpoint = {
      url: url!,
      enabled: enabled!,
      generation: generation!,
      secret: secret!,
      previousSecret
    }
    this.known.set(endpointId, { version, endpoint })
    return endpoint
  }
}
