/**
 * Endpoints by version, a hash that the database compares at each load: an unchanged endpoint is not sent again. At most
 * `MOST`, the least recently used dropped.
 */
import type { EndpointId } from "@posthorn/domain/Ids"
import { Schema } from "effect"
import { LRUCache } from "lru-cache"
import { Bytes, Count } from "../../client/internal/Columns.ts"
import type { RowOf } from "../../client/PreparedStatements.ts"
import { policyOf, type VersionedPolicy } from "./Policies.ts"

/** The same object until the endpoint changes. */
export interface DispatchEndpoint {
  readonly url: string
  readonly enabled: boolean
  readonly generation: number
  readonly secret: Uint8Array
  readonly previousSecret: Uint8Array | null
  readonly policy: VersionedPolicy
  readonly slug: string
  /** A `RequestProfile` as JSON text, and its secrets sealed by SecretBox; null for none. */
  readonly request: string | null
  readonly requestSecrets: Uint8Array | null
}

const MOST = 20_000

/** A version is a hash of 64 bits. */
const UNKNOWN = "0"

/** The columns after `version` are null for a known version. */
export const LOADED = [
  ["index", Count],
  ["event_type", Schema.String],
  ["payload", Schema.NullOr(Schema.String)],
  ["trace_id", Schema.String],
  ["test", Schema.Boolean],
  ["created_at", Schema.NullOr(Schema.String)],
  ["failures", Count],
  ["retry", Schema.Boolean],
  ["version", Schema.String],
  ["url", Schema.NullOr(Schema.String)],
  ["enabled", Schema.NullOr(Schema.Boolean)],
  ["generation", Schema.NullOr(Count)],
  ["secret", Schema.NullOr(Bytes)],
  ["previous_secret", Schema.NullOr(Bytes)],
  ["policy", Schema.NullOr(Schema.String)],
  ["workspace_policy", Schema.NullOr(Schema.String)],
  ["policy_version", Schema.String],
  ["slug", Schema.NullOr(Schema.String)],
  ["request", Schema.NullOr(Schema.String)],
  ["request_secrets", Schema.NullOr(Bytes)]
] as const
export type LoadedRow = RowOf<typeof LOADED>

interface Known {
  readonly version: string
  readonly endpoint: DispatchEndpoint
}

export class KnownEndpoints {
  private readonly known = new LRUCache<string, Known>({ max: MOST })

  /** Text, because 64 bits do not fit into a number. */
  version(endpointId: EndpointId): string {
    return this.known.get(endpointId)?.version ?? UNKNOWN
  }

  now(endpointId: EndpointId, row: LoadedRow): DispatchEndpoint {
    const known = this.known.get(endpointId)
    if (known !== undefined && known.version === row[8]) return known.endpoint
    const [, , , , , , , , version, url, enabled, generation, secret, previousSecret, ...rest] = row
    const [own, workspace, policyVersion, slug, request, requestSecrets] = rest
    const endpoint = {
      url: url!,
      enabled: enabled!,
      generation: generation!,
      secret: secret!,
      previousSecret,
      policy: policyOf(own, workspace, policyVersion),
      slug: slug!,
      request,
      requestSecrets
    }
    this.known.set(endpointId, { version, endpoint })
    return endpoint
  }
}
