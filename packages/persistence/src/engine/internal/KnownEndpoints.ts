/**
 * Endpoints as they were last read, by their version, so that an endpoint that has not changed is neither sent nor decoded
 * again for each of its deliveries. The database compares the version each time, and the version is a hash of what is
 * here: so nothing here is ever out of date, also after the database was restored to an earlier day.
 * Bounded: what was used least recently is forgotten. Of the endpoints of a load nothing is forgotten until its answer, as long
 * as it asks for fewer than are kept.
 */
import type { EndpointId } from "@posthorn/domain/Ids"
import { Schema } from "effect"
import { LRUCache } from "lru-cache"
import { Bytes, Count } from "../../client/internal/Columns.ts"
import type { RowOf } from "../../client/Prepared.ts"
import { policyOf, type VersionedPolicy } from "./Policies.ts"

/** An endpoint as it stands at dispatch. The same object as long as nothing of it changes. */
export interface DispatchEndpoint {
  readonly url: string
  readonly enabled: boolean
  readonly generation: number
  /** Sealed by SecretBox. */
  readonly secret: Uint8Array
  /** Null once the grace window is over. */
  readonly previousSecret: Uint8Array | null
  readonly policy: VersionedPolicy
}

const MOST = 20_000

/** As good as no endpoint has it: a version is a hash of 64 bits. */
const UNKNOWN = "0"

/** `posthorn.loaded`; what comes after the version is null when that is the one that was asked for. */
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
  ["previous_secret", Schema.NullOr(Bytes)],
  ["policy", Schema.NullOr(Schema.String)],
  ["workspace_policy", Schema.NullOr(Schema.String)],
  ["policy_version", Schema.String]
] as const
export type LoadedRow = RowOf<typeof LOADED>

interface Known {
  readonly version: string
  readonly endpoint: DispatchEndpoint
}

export class KnownEndpoints {
  private readonly known = new LRUCache<string, Known>({ max: MOST })

  /** As text: it does not fit into a number. */
  version(endpointId: EndpointId): string {
    return this.known.get(endpointId)?.version ?? UNKNOWN
  }

  now(endpointId: EndpointId, row: LoadedRow): DispatchEndpoint {
    const [, , , , , , version, url, enabled, generation, secret, previousSecret, ...policy] = row
    const known = this.known.get(endpointId)
    if (known !== undefined && known.version === version) return known.endpoint
    const endpoint = {
      url: url!,
      enabled: enabled!,
      generation: generation!,
      secret: secret!,
      previousSecret,
      policy: policyOf(...policy)
    }
    this.known.set(endpointId, { version, endpoint })
    return endpoint
  }
}
