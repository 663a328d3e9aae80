/**
 * What a receiver asks for by `Retry-After`: a number of seconds, or one of the three forms of an HTTP date (RFC 9110 §5.6.7). Total:
 * what is neither asks for nothing.
 */

/** A receiver is not followed beyond this. */
export const RETRY_AFTER_MOST_MS = 86_400_000

const SECONDS = /^\d+$/
const HTTP_DATE = /^[A-Z][a-z]{2,8},? [\dA-Za-z :-]{15,24}( GMT)?$/

/** Milliseconds from `now` on; null when the header asks for nothing. */
export const retryAfterMs = (header: string, now: number): number | null => {
  const text = header.trim()
  if (SECONDS.test(text)) return Math.min(Number(text) * 1_000, RETRY_AFTER_MOST_MS)
  if (!HTTP_DATE.test(text)) return null
  // The oldest form names no zone; it is GMT all the same.
  const date = Date.parse(text.endsWith(" GMT") ? text : `${text} GMT`)
  return Number.isNaN(date) ? null : Math.min(Math.max(0, date - now), RETRY_AFTER_MOST_MS)
}
