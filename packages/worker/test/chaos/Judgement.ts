/** A law's judgement of a run: how many cases it judged, and its violations. */
export interface Judgement {
  readonly cases: number
  readonly violations: ReadonlyArray<string>
}

/** What its cases are. */
export type NamedJudgement = Judgement & { readonly of: string }

/** Judges each case: `wrong` gives a violation, or nothing. */
export const judgeEach = <A>(
  of: string,
  cases: ReadonlyArray<A>,
  wrong: (one: A) => string | false
): NamedJudgement => ({
  of,
  cases: cases.length,
  violations: cases.map(wrong).filter((text) => text !== false)
})
