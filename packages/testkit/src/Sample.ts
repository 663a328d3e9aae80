/**
 * A sample of many cases for `npm test`; `npm run test:deep` tries them all. It takes every nth case, so that each run tries
 * the same. Let n be a prime, so that every value of each dimension of a matrix occurs.
 */
export const oneIn = <A>(n: number, cases: ReadonlyArray<A>): ReadonlyArray<A> =>
  cases.filter((_, index) => index % n === 0)
