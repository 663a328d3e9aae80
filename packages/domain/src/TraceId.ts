/**
 * The id that follows one publish, replay or test send from the request to the receiver and into every record.
 *
 * 32 hex digits. A valid incoming W3C `traceparent` is continued; anything else starts a new one, which begins with the
 * time: ids that sort by creation cost an index a fraction of random ones. Source: spec §7.1.
 */
import { newTail, randomTail } from "./Ids.ts"

const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/
const ZEROS = /^0+$/

const partsOf = (traceparent: string | undefined) => {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent)
  return match !== null && !ZEROS.test(match[1]!) && !ZEROS.test(match[2]!) ? match : null
}

/** An id's tail, and three more random digits. */
export const newTraceId = (): string => newTail() + randomTail().slice(-3)

/** The trace id of a `traceparent` header, or a new one when it is absent or not valid. */
export const continueTrace = (traceparent: string | undefined): string =>
  partsOf(traceparent)?.[1] ?? newTraceId()

/** The caller's own span, and whether its trace is sampled. */
export interface CallerSpan {
  readonly spanId: string
  readonly isSampled: boolean
}

export const callerSpan = (traceparent: string | undefined): CallerSpan | undefined => {
  const parts = partsOf(traceparent)
  return parts === null
    ? undefined
    : { spanId: parts[2]!, isSampled: (Number.parseInt(parts[3]!, 16) & 1) === 1 }
}
