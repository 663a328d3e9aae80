/** What is likely wrong, what speaks for it, and what to do about it. */
import type { NextStep } from "./Steps.ts"

export interface Cause {
  readonly summary: string
  /** What in the evidence speaks for it; undefined when only the kind of failure does. */
  readonly because?: string
  readonly steps: ReadonlyArray<NextStep>
}
