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

type Figures = Partial<Readonly<Record<Breach, number>>>

/**
 * Of any case: 16 to 64 calls at once share two cores and one event loop with the neighbour, and the bound is twice 5 ms and 40 ms.
 * Statements are measured by the wall clock, so their waits for processors and locks count.
 */
const OF_ALL: Figures = {
  "serve's loop": 250,
  "work's loop": 250,
  publish: 800,
  arrival: 1_500,
  statement: 1_500
}

const OF: Readonly<Record<string, Figures>> = {
  "pipelined, never read": { "serve's loop": 800 },
  "a list, never read": { "serve's loop": 800 },
  // A body of 1 MiB is parsed, checked and stored in one piece.
  sendTestEvent: { "serve's loop": 500 }
}

export const isKnown = (name: string, breach: Breach, figure: number): boolean =>
  figure <= (OF[name]?.[breach] ?? OF_ALL[breach] ?? Number.NEGATIVE_INFINITY)
