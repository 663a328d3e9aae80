/**
 * Identifiers: a prefix that names the noun, and a tail that sorts by creation.
 *
 * Tail: 13 hex digits of microseconds since 1970 and 16 hex digits of randomness. `posthorn.new_id(prefix)` makes the
 * same in SQL. Ids are time-ordered because random keys cost 27 times the WAL on a large table. So ascending ids are in
 * creation order, to the microsecond of their maker's clock. Source: spec §2.7.
 */
export const prefixes = {
  workspace: "wsp_",
  endpoint: "whe_",
  delivery: "whd_",
  attempt: "wha_",
  event: "evt_",
  token: "tok_",
  audit: "aud_",
  notification: "ntf_",
  alert: "alr_",
  member: "mem_",
  consoleLink: "lnk_",
  consoleSession: "ses_",
  replay: "rpl_"
} as const

export type Noun = keyof typeof prefixes

/**
 * The id of one noun, which is not assignable to another noun's. Plain text is assignable, so that clients can pass on ids that
 * they were given.
 */
export type Id<N extends Noun> = string & { readonly idOf?: N }

export type WorkspaceId = Id<"workspace">
export type EndpointId = Id<"endpoint">
export type DeliveryId = Id<"delivery">
export type AttemptId = Id<"attempt">
export type EventId = Id<"event">
export type TokenId = Id<"token">
export type AuditEventId = Id<"audit">
export type NotificationId = Id<"notification">
export type AlertId = Id<"alert">
export type MemberId = Id<"member">
export type ConsoleSessionId = Id<"consoleSession">
export type ReplayId = Id<"replay">

let last = 0

/** Microseconds since 1970, never the same twice in one process. */
const microseconds = () => {
  const now = Math.floor((performance.timeOrigin + performance.now()) * 1000)
  last = now > last ? now : last + 1
  return last
}

const TAIL_BYTES = 8

/** Drawn for 256 ids at a time: 8 random bytes cost 8 us, as much as 2,048. */
const pool = new Uint8Array(256 * TAIL_BYTES)
let drawn = pool.length

const hex: ReadonlyArray<string> = Array.from({ length: 256 }, (_, byte) =>
  byte.toString(16).padStart(2, "0")
)

/** 16 random hex digits. */
export const randomTail = (): string => {
  if (drawn === pool.length) {
    crypto.getRandomValues(pool)
    drawn = 0
  }
  let text = ""
  for (const end = drawn + TAIL_BYTES; drawn < end; drawn++) text += hex[pool[drawn]!]
  return text
}

/** 29 hex digits that sort by creation: the tail of an id. */
export const newTail = (): string => `${microseconds().toString(16).padStart(13, "0")}${randomTail()}`

/** A new id for the noun, e.g. `whd_64401b2c93f5e0b7d1c4a98e62f03`. */
export const newId = <N extends Noun>(noun: N): Id<N> => `${prefixes[noun]}${newTail()}`

/** The smallest id of this moment, in milliseconds. */
export const firstIdAt = (noun: Noun, moment: number) =>
  `${prefixes[noun]}${(moment * 1000).toString(16).padStart(13, "0")}`
