/** Times typed by users: `2h`, `30m`, `1d`, or RFC 3339. */
import { readTime } from "@posthorn/domain/Time"

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const AGO = /^(\d{1,6})(s|m|h|d)$/

/** As RFC 3339; undefined if it is not a time. */
export const momentOf = (text: string, now: number): string | undefined => {
  const ago = AGO.exec(text.trim())
  if (ago === null) return readTime(text.trim())
  return new Date(now - Number(ago[1]) * UNITS[ago[2] as keyof typeof UNITS]).toISOString()
}

/** A duration, such as `3 min`. */
export const spanOf = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000))
  if (seconds < 90) return `${seconds} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 90 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}
