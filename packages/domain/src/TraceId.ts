/**
 * The id that follows one publish, replay or test send from the request to the receiver and into every record.
 *
 * 32 hex digits. A valid incoming W3C `traceparent` is continued; anything else starts a new one. Source: decision §5.
 */
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(?:-.*)?$/
const ZEROS = /^0+$/

const hex: ReadonlyArray<string> = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0")
)

const BYTES = 16

/** Random bytes for the next ids: asking for 16 at a time costs more than the rest of an id. */
const pool = new Uint8Array(256 * BYTES)
let used = pool.length

export const newTraceId = (): string => {
  if (used === pool.length) {
    crypto.getRandomValues(pool)
    used = 0
  }
  let text = ""
  for (const end = used + BYTES; used < end; used++) text += hex[pool[used]!]
  return ZEROS.test(text) ? newTraceId() : text
}

/** The trace id of a `traceparent` header, or a new one when it is absent or not valid. */
export const continueTrace = (traceparent: string | undefined): string => {
  const match = traceparent === undefined ? null : TRACEPARENT.exec(traceparent)
  return match !== null && !ZEROS.test(match[1]!) && !ZEROS.test(match[2]!) ? match[1]! : newTraceId()
}
