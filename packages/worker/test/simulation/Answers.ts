/** How the receivers of a world answer, by the last word of their URL. */
import type { Observation } from "@posthorn/domain/Verdict"
import type { Chance } from "./VirtualTime.ts"

/** After this a receiver that never answers is given up. */
export const HANG_MS = 2_000

/** Longer than a worker that stops, or hands over a shard, waits. */
const LONG_MS = 12_000

/** Each is drawn as often as it is listed. */
export const MANNERS = ["ok", "ok", "flaky", "flaky", "slow", "gone", "dead", "hang", "proxied"] as const

export interface Answer {
  readonly after: number
  readonly seen: Omit<Observation, "durationMs">
}

/** Retry-After, by status. */
const RETRY_AFTER: Readonly<Record<number, string>> = { 408: "soon", 429: "2", 503: "1" }

const status = (httpStatus: number) => ({
  httpStatus,
  failureReason: null,
  responseBody: "",
  ...(httpStatus in RETRY_AFTER && {
    responseHeaders: JSON.stringify({ "retry-after": RETRY_AFTER[httpStatus] })
  })
})

const none = (failureReason: "connection_failed" | "request_timeout" | "proxy_failed") => ({
  httpStatus: null,
  failureReason,
  responseBody: null
})

export const answerOf = (url: string, chance: Chance): Answer => {
  const quick = chance.between(1, 80)
  switch (url.split("/").pop()) {
    case "flaky":
      return { after: quick, seen: status(chance.oneOf([200, 500, 429, 408, 503, 302])) }
    case "slow":
      return { after: chance.between(300, 1_500), seen: status(200) }
    case "long":
      return { after: LONG_MS, seen: status(200) }
    case "gone":
      return { after: quick, seen: status(410) }
    case "proxied":
      return {
        after: quick,
        seen: chance.oneOf([status(200), none("proxy_failed"), none("connection_failed")])
      }
    case "dead":
      return { after: quick, seen: none("connection_failed") }
    case "hang":
      return { after: HANG_MS, seen: none("request_timeout") }
    default:
      return { after: quick, seen: status(200) }
  }
}
