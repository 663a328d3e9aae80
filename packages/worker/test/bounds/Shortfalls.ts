/**
 * Bounds that do not hold yet. A case that breaches a bound is printed with `!`; it fails unless the breach stands here and its figure is
 * at most this one, which was seen on a machine with two cores. So nothing here moves a bound (`Installation.ts` has them), and nothing
 * may get worse. An entry goes when its bound holds. Milliseconds, or MB for memory.
 */
export type Breach =
  | "serve ended"
  | "not tried"
  | "serve's loop"
  | "work's loop"
  | "memory"
  | "work's memory"
  | "kept"
  | "publish"
  | "arrival"
  | "statement"

/**
 * Of any case: 16 to 64 calls at once share two cores and one event loop with the neighbour, and the bound is twice 5 ms and 40 ms. A
 * body or an answer of 1 MiB is checked, stored or made in one piece. Statements are measured by the wall clock, so their waits for
 * processors and locks count.
 */
const OF_ALL: Partial<Readonly<Record<Breach, number>>> = {
  "serve's loop": 200,
  publish: 500,
  arrival: 700,
  statement: 1_500
}

export const isKnown = (breach: Breach, figure: number): boolean =>
  figure <= (OF_ALL[breach] ?? Number.NEGATIVE_INFINITY)
