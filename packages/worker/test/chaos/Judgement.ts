/** What a law says of a run: how many cases it had to judge, and what is wrong. */
export interface Judgement {
  readonly cases: number
  readonly violations: ReadonlyArray<string>
}

/** With what its cases are. */
export type NamedJudgement = Judgement & { readonly of: string }

/** Each of these must be right: `wrong` says what is not, or nothing. */
export const judgeEach = <A>(
  of: string,
  cases: ReadonlyArray<A>,
  wrong: (one: A) => string | false
): NamedJudgement => ({
  of,
  cases: cases.length,
  violations: cases.map(wrong).filter((text) => text !== false)
})
