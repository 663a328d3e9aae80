/**
 * Endpoints as they were last read, by their version, so that an endpoint that has not changed is neither sent nor decoded
 * again for each of its deliveries. The database is asked for the version each time, so nothing here is ever out of date.
 * Bounded: the half that was read first is forgotten when there are too many.
 */
/** An endpoint as it stands at dispatch. The same object as long as nothing of it changes. */
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

/** No row of a table has it: transaction ids of rows begin at 3. */
const UNKNOWN = "0"

/** The columns of `posthorn.loaded` from `version` on; all null when the version is the one that was asked for. */
type Columns = ReadonlyArray<unknown>

interface Known {
  readonly version: string
  readonly endpoint: DispatchEndpoint
}

export class KnownEndpoints {
  private readonly known = new Map<string, Known>()

  /** Say so before the versions of a load are asked for: of what is asked for nothing may be forgotten until its answer. */
  makeRoom(): void {
    if (this.known.size < MOST) return
    let left = MOST / 2
    for (const id of this.known.keys()) if (left-- > 0) this.known.delete(id)
  }

  /** As text: PostgreSQL's transaction ids. */
  version(endpointId: string): string {
    return this.known.get(endpointId)?.version ?? UNKNOWN
  }

  now(endpointId: string, columns: Columns): DispatchEndpoint {
    const known = this.known.get(endpointId)
    const [version, url, enabled, generation, secret, previousSecret] = columns as [
      string | null,
      string,
      boolean,
      number,
      Uint8Array,
      Uint8Array | null
    ]
    if (known !== undefined && (version === null || this.isSame(known, version, previousSecret)))
      return known.endpoint
    const endpoint = { url, enabled, generation, secret, previousSecret }
    this.known.set(endpointId, { version: version!, endpoint })
    return endpoint
  }

  /** The second secret ends by the clock, without a change of the row. */
  private isSame({ endpoint, version }: Known, now: string, previousSecret: Uint8Array | null): boolean {
    return version === now && (endpoint.previousSecret === null) === (previousSecret === null)
  }

  /** After a connection broke: a database restored to an earlier day counts its transactions again. */
  forget(): void {
    this.known.clear()
  }
}
