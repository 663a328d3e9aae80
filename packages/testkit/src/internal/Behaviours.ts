/** Behaviours that are made from a number, and how a path asks for one: `/status/418`, `/schedule/500-500-200`. */
import type { Behaviour } from "./RawAnswer.ts"
import { headerOf } from "./RawRequests.ts"

export type { Behaviour } from "./RawAnswer.ts"

export const withStatus =
  (code: number): Behaviour =>
  (a) =>
    a.reply(code, `status ${code}`)

export const redirect =
  (code: number, location: string): Behaviour =>
  (a) =>
    a.reply(code, "moved", { location })

/** A redirect to this receiver's own trap, as an absolute URL. */
export const redirectToTrap =
  (code: number): Behaviour =>
  (a) =>
    a.reply(code, "moved", { location: `http://${headerOf(a.request, "host")}/trap` })

/** One status after another, then the last one forever. */
const schedule =
  (codes: ReadonlyArray<number>): Behaviour =>
  (a) =>
    a.reply(codes[Math.min(a.nth, codes.length) - 1]!, `answer ${a.nth}`)

/** The behaviour that `path` describes; `/` and `/ok` answer 200, anything else 404. */
export const spelledOut = (path: string): Behaviour => {
  const [, kind, argument = ""] = path.split("/")
  if (kind === "status") return withStatus(Number(argument))
  if (kind === "redirect") return redirect(Number(argument), "/trap")
  if (kind === "schedule") return schedule(argument.split("-").map(Number))
  return path === "/" || path === "/ok" ? (a) => a.reply(200, "ok") : (a) => a.reply(404, "no such path")
}
