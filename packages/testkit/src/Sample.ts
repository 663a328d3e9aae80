/**
 * A part of many cases, for `npm test`; `npm run test:deep` tries them all. Every nth, so that each run tries the same. Let n
 * be a prime: it then meets every value of each dimension of a matrix sooner or later.
 */
export const oneIn = <A>(n: number, cases: ReadonlyArray<A>): ReadonlyArray<A> =>
  cases.filter((_, index) => index % n === 0)
