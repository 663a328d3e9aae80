/**
 * One request on its way to its answer: Node's two halves, and what the gate, the meters and the deadline have to know of
 * it, in one place.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type { ContractEntry } from "@posthorn/api-contract/Walk"
import { continueTrace } from "@posthorn/domain/TraceId"
import { Context } from "effect"
import type { BucketState, Visit } from "../RateLimits.ts"

/** What is answered there may hold a secret that is shown once, or what a session sees: no cache may keep it. */
const PRIVATE = /^\/(?:mcp$|console\/(?:api\/|session$))/

const nothing = () => undefined

/** Under it the operations again, for the console's sessions. */
const CONSOLE_API = "/console/api/"

type Headers = Readonly<Record<string, string | undefined>>

export interface Match {
  readonly entry: ContractEntry
  readonly path: Readonly<Record<string, string>>
}

export class Exchange implements Visit {
  readonly source: IncomingMessage
  readonly response: ServerResponse
  readonly method: string
  /** The path as it was sent. */
  readonly pathname: string
  /** What follows the `?`. */
  readonly search: string
  readonly traceId: string
  readonly via: "console" | "rest"
  readonly began = performance.now()
  readonly isPrivate: boolean
  /** The operation that the request names. */
  match: Match | undefined = undefined
  /** Whose idempotency keys are meant, once the gate knows. */
  caller = ""
  bucket: BucketState | null = null
  /** What the gate tells the operation. The request is answered with it, if the gate was open at once. */
  known: Context.Context<never> = Context.empty()
  /** Whether it is past its gate, or waits there. */
  isUnderWay = false
  /** Whether its body is being waited for. */
  isArriving = false
  /** Called when its body has been waited for, and has come or not. */
  arrived: () => void = nothing

  constructor(source: IncomingMessage, response: ServerResponse) {
    const url = source.url!
    const at = url.indexOf("?")
    this.source = source
    this.response = response
    this.method = source.method!
    this.pathname = at < 0 ? url : url.slice(0, at)
    this.search = at < 0 ? "" : url.slice(at + 1)
    this.traceId = continueTrace(source.headers.traceparent as string | undefined)
    this.isPrivate = PRIVATE.test(this.pathname)
    this.via = this.pathname.startsWith(CONSOLE_API) ? "console" : "rest"
  }

  /** What the router goes by: the same operations live under both paths. */
  get url(): string {
    return readable(this.via === "console" ? this.pathname.slice(CONSOLE_API.length - 1) : this.pathname)
  }

  /** Only `set-cookie` comes as a list, and only in answers. */
  get headers(): Headers {
    return this.source.headers as Headers
  }

  get address(): string {
    return this.source.socket.remoteAddress ?? ""
  }
}

/**
 * The path as the router is to see it. What does not decode is an id that nothing has; a `;` belongs to its segment, and
 * is encoded because the router would end the path there.
 */
const readable = (pathname: string) => {
  const path = pathname.includes(";") ? pathname.replaceAll(";", "%3B") : pathname
  return path.includes("%") ? path.split("/").map(readableSegment).join("/") : path
}

const readableSegment = (segment: string) => {
  try {
    decodeURIComponent(segment)
    return segment
  } catch {
    return "-"
  }
}
