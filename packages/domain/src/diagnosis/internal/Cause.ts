/** A likely cause, the evidence for it, and what to do about it. */
import type { NextStep } from "./Steps.ts"

export interface Cause {
  readonly summary: string
  /** The evidence for it; undefined if there is only the kind of failure. */
  readonly because?: string
  readonly steps: ReadonlyArray<NextStep>
}
