/** What `posthorn doctor` finds, and what the worst of it means for whoever runs it. Source: spec §10 (Doctor). */
import { Array as Arr, Order } from "effect"

/**
 * `well`: as it should be; `note`: worth knowing; `warning`: works, and should be mended; `wrong`: keeps `serve` or `work` from
 * its work.
 */
export type Verdict = "well" | "note" | "warning" | "wrong"

export interface Finding {
  readonly verdict: Verdict
  /** What was examined, in a word. */
  readonly about: string
  /** For programs; the same for the same finding. */
  readonly code: string
  /** For people: what is so, and what to do. Never the value of a setting. */
  readonly text: string
}

const finding =
  (verdict: Verdict) =>
  (about: string, code: string, text: string): Finding => ({ verdict, about, code, text })

export const well = finding("well")
export const note = finding("note")
export const warning = finding("warning")
export const wrong = finding("wrong")

const EXIT_CODES = { well: 0, note: 0, warning: 3, wrong: 1 } as const

const bySeverity = Order.mapInput(Order.number, (verdict: Verdict) =>
  ["well", "note", "warning", "wrong"].indexOf(verdict)
)

/** The worst verdict, and the exit code that it means. */
export const summaryOf = (findings: ReadonlyArray<Finding>) => {
  const verdict = Arr.reduce(
    findings.map((one) => one.verdict),
    "well" as Verdict,
    Order.max(bySeverity)
  )
  return { verdict, exitCode: EXIT_CODES[verdict] } as const
}
