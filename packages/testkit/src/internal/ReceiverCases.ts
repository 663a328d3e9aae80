/**
 * The format of the tables of misbehaving receivers: the expected observation of a group of paths, then each path with its
 * behaviour.
 */
import type { Behaviour } from "./RawAnswer.ts"

export interface ReceiverCase {
  readonly path: string
  readonly answer: Behaviour
  readonly leadsTo: Outcome
  /** The deadline that ends it, when one does. */
  readonly until: "request deadline" | "body deadline" | null
}

export interface Outcome {
  readonly httpStatus: number | null
  readonly failureReason: "request_timeout" | "connection_failed" | "invalid_response" | null
  readonly failureDetail?: "closed_early" | "reset"
  /** Null for absent. */
  readonly responseBody: string | null
}

export const status = (httpStatus: number, responseBody: string | null): Outcome => ({
  httpStatus,
  failureReason: null,
  responseBody
})

export const nothing = (
  failureReason: NonNullable<Outcome["failureReason"]>,
  failureDetail?: Outcome["failureDetail"]
): Outcome => ({
  httpStatus: null,
  failureReason,
  ...(failureDetail === undefined ? {} : { failureDetail }),
  responseBody: null
})

export const leadingTo = (
  leadsTo: Outcome,
  behaviours: Readonly<Record<string, Behaviour>>,
  until: ReceiverCase["until"] = null
): ReadonlyArray<ReceiverCase> =>
  Object.entries(behaviours).map(([path, answer]) => ({ path, answer, leadsTo, until }))

export const OK = "HTTP/1.1 200 OK\r\n"
export const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`
export const HINTS = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n"
