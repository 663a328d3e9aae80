/**
 * Times as callers write them: RFC 3339 with an offset, stored and compared to the millisecond.
 *
 * A finer time is rounded up to the next millisecond. Stored times have no finer precision, so comparing with the result by
 * `>=` and `<` is the same as comparing with the original. Source: spec §2.7.
 */
const RFC3339 =
  /^(?!0000)(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,3})(\d{0,9}))?([Zz]|[+-]\d{2}:\d{2})$/
/** Years 1 to 9999: what PostgreSQL and RFC 3339 both write. */
const WRITABLE = /^(?!0000)\d{4}-/

/** The moment as RFC 3339 in UTC with milliseconds; undefined if the text is not a moment. */
export const readTime = (text: string): string | undefined => {
  const match = RFC3339.exec(text)
  if (match === null) return undefined
  const [, day, clock, millis = "", finer = "", offset] = match
  const midnight = new Date(`${day}T00:00:00Z`)
  // 30 February has the form of a date but is none.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day!)) return undefined
  const time = Date.parse(`${day}T${clock}.${millis.padEnd(3, "0")}${offset!.toUpperCase()}`)
  const moment = /[1-9]/.test(finer) ? time + 1 : time
  const written = Number.isNaN(moment) ? "" : new Date(moment).toISOString()
  return WRITABLE.test(written) ? written : undefined
}
