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
  /** Recorded attempts in a row that were not delivered. */
  readonly failures: number
  /** Sealed by SecretBox. */
  readonly secret: Uint8Array
  /** Null once the grace window is over. */
  readonly previousSecret: Uint8Array | null
}

const MOST = 20_000

/** No row of a table has it: transaction ids of rows begin at 3. */
const UNKNOWN = "0"

/** `posthorn.loaded`; the endpoint's columns are null when its version is the one that was asked for. */
export type LoadedRow = readonly [
  place: number,
  eventType: string,
  payload: string,
  traceId: string,
  version: string | null,
  url: string,
  enabled: boolean,
  generation: number,
  failures: number,
  secret: Uint8Array,
  previousSecret: Uint8Array | null
]

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

  now(endpointId: string, row: LoadedRow): DispatchEndpoint {
    const known = this.known.get(endpointId)
    const version = row[4]
    if (known !== undefined && (version === null || this.isSame(known, version, row[10])))
      return known.endpoint
    const endpoint = {
      url: row[5],
      enabled: row[6],
      generation: row[7],
      failures: row[8],
      secret: row[9],
      previousSecret: row[10]
    }
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
