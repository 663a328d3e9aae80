/** A relative time, exact on hover and focus. It updates itself. */
import { useSyncExternalStore } from "react"

const listeners = new Set<() => void>()
let now = Date.now()
let timer: ReturnType<typeof setInterval> | undefined

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  timer ??= setInterval(() => {
    now = Date.now()
    for (const each of listeners) each()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

const coarse = new Intl.RelativeTimeFormat("en", { numeric: "always", style: "narrow" })
const steps: ReadonlyArray<readonly [number, Intl.RelativeTimeFormatUnit]> = [
  [60, "second"],
  [3600, "minute"],
  [86_400, "hour"],
  [2_592_000, "day"],
  [31_536_000, "month"],
  [Number.POSITIVE_INFINITY, "year"]
]
const sizes: Record<string, number> = {
  second: 1,
  minute: 60,
  hour: 3600,
  day: 86_400,
  month: 2_592_000,
  year: 31_536_000
}

export const relative = (at: string, from = Date.now()) => {
  const seconds = Math.round((Date.parse(at) - from) / 1000)
  if (Math.abs(seconds) < 3) return "just now"
  const [, unit] = steps.find(([limit]) => Math.abs(seconds) < limit)!
  return coarse.format(Math.trunc(seconds / sizes[unit]!), unit)
}

/** `2026-11-22 01:42:21 UTC` */
export const exactly = (at: string) => `${at.slice(0, 19).replace("T", " ")} UTC`

/** Re-renders each second; the seconds are rounded so that all times on a page agree. */
export const useNow = () => useSyncExternalStore(subscribe, () => now)

export const Time = ({ at, focusable = false }: { at: string; focusable?: boolean }) => (
  <time
    dateTime={at}
    title={`${exactly(at)} · ${new Date(at).toLocaleString()} here`}
    className="whitespace-nowrap rounded-sm"
    {...(focusable ? { tabIndex: 0 } : {})}
  >
    <span className="when-relative">{relative(at, useNow())}</span>
    <span className="when-exact">{exactly(at)}</span>
  </time>
)

const MOMENTS = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

const byTheClock = (at: string) => {
  const time = new Date(at)
  return time.toDateString() === new Date().toDateString()
    ? time.toLocaleTimeString()
    : time.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })
}

/** A sentence of the server, with its times by the reader's clock. */
export const WithTimes = ({ text }: { text: string }) =>
  text.split(MOMENTS).map((part, n) =>
    n % 2 === 0 ? (
      part
    ) : (
      <time key={part} dateTime={part} title={exactly(part)} className="whitespace-nowrap">
        {byTheClock(part)}
      </time>
    )
  )

/** How long until then, as `0:27` or `23:41:07`; null once it is past. */
export const useCountdown = (until: string | null) => {
  const now = useNow()
  const left = until === null ? 0 : Math.ceil((Date.parse(until) - now) / 1000)
  if (left <= 0) return null
  const [hours, minutes, seconds] = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60]
  const two = (value: number) => String(value).padStart(2, "0")
  return hours > 0 ? `${hours}:${two(minutes)}:${two(seconds)}` : `${minutes}:${two(seconds)}`
}

/** `340 ms`, `1.2 s` */
export const duration = (ms: number) =>
  ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`

const UNITS = [
  ["day", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1]
] as const

/** `40 s`, `1 min 30 s`, `2 h 5 min`, `4 days`: the largest unit, and the next where something is left. */
export const span = (seconds: number): string => {
  const at = UNITS.findIndex(([, size]) => seconds >= size)
  if (at < 0 || at === UNITS.length - 1) return `${seconds} s`
  const shown = ([name, size]: (typeof UNITS)[number], of: number) => {
    const count = Math.floor(of / size)
    return count === 0 ? [] : [`${count} ${name === "day" && count > 1 ? "days" : name}`]
  }
  const [first, second] = [UNITS[at]!, UNITS[at + 1]!]
  return [...shown(first, seconds), ...shown(second, seconds % first[1])].join(" ")
}
