/**
 * The console in a frame of another page, at `/console/embed?in=<origin>,…#code=…`.
 *
 * Only these origins may frame it, says the server's `frame-ancestors`; only they are answered. The code leaves the address before
 * anything else happens. Whoever frames the page speaks first (`@posthorn/embed`); a plain frame works too, and hears nothing.
 */
import type { FromConsole, FromHost } from "@posthorn/embed/Messages"

export const isEmbedded = location.pathname === "/console/embed"
if (isEmbedded) document.documentElement.dataset.embedded = ""

/** Opened in a window of its own, where no link works. */
export const isFramed = parent !== window

/** The origins that the link names, in its order. */
export const embedIn: ReadonlyArray<string> = isEmbedded
  ? (new URLSearchParams(location.search).get("in") ?? "").split(",")
  : []

/** Returns the code in the address, and removes it from there. */
export const takeCode = () => {
  const code = new URLSearchParams(location.hash.slice(1)).get("code")
  if (location.hash !== "") history.replaceState(history.state, "", location.pathname + location.search)
  return code
}

let host: string | undefined
const told = new Map<FromConsole["posthorn"], FromConsole>()

/** Tells the page around this one. Before that page has spoken, the last message of each kind waits. */
export const tellHost = (message: FromConsole) => {
  if (!isEmbedded) return
  if (host !== undefined) return parent.postMessage(message, host)
  if (message.posthorn === "moved") return
  told.delete(message.posthorn === "opened" ? "expired" : "opened")
  told.set(message.posthorn, message)
}

/** A code that nobody has taken yet. */
let code = isEmbedded ? takeCode() : null
let open: ((code: string) => void) | undefined

const hear = ({ data, origin, source }: MessageEvent<FromHost | null>) => {
  if (source !== parent || !embedIn.includes(origin)) return
  if (data?.posthorn === "link") {
    code = String(data.code)
    takeLinks()
  }
  if (data?.posthorn !== "host") return
  host = origin
  for (const message of told.values()) tellHost(message)
  told.clear()
}
if (isEmbedded && isFramed) addEventListener("message", hear)

/** From now on `next` gets the code of each link: the address's, and those of new ones. False if there is none yet. */
export const takeLinks = (next = open): boolean => {
  open = next
  if (open === undefined || code === null) return false
  const taken = code
  code = null
  open(taken)
  return true
}
