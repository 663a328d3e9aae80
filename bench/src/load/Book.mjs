/**
 * Every event of a long run by its number: when it was committed and how often it came. Each event has one delivery, and no
 * receiver fails, so each must come exactly once. Gives how long those took that came since it was last asked.
 */

/** A commit's answer may be learnt after the arrival: then the delivery took no time at all. */
const between = (committed, arrived) => Math.max(0, arrived - committed)

const grown = (array, length) => {
  if (length <= array.length) return array
  const larger = new array.constructor(Math.max(length, array.length * 2))
  larger.set(array)
  return larger
}

export const book = () => {
  let committedAt = new Float64Array(1 << 20)
  let arrivedAt = new Float64Array(1 << 20)
  let times = new Uint8Array(1 << 20)
  let published = 0
  let arrived = 0
  let most = 0
  let delays = []
  const room = (n) => {
    most = Math.max(most, n + 1)
    committedAt = grown(committedAt, n + 1)
    arrivedAt = grown(arrivedAt, n + 1)
    times = grown(times, n + 1)
  }
  return {
    commit: (pairs) => {
      for (let i = 0; i < pairs.length; i += 2) {
        const n = pairs[i]
        room(n)
        published += 1
        committedAt[n] = pairs[i + 1]
        if (times[n] > 0) delays.push(between(pairs[i + 1], arrivedAt[n]))
      }
    },
    arrive: (pairs) => {
      for (let i = 0; i < pairs.length; i += 2) {
        const n = pairs[i]
        room(n)
        times[n] = Math.min(255, times[n] + 1)
        if (times[n] > 1) continue
        arrived += 1
        arrivedAt[n] = pairs[i + 1]
        if (committedAt[n] > 0) delays.push(between(committedAt[n], pairs[i + 1]))
      }
    },
    counts: () => ({ published, arrived, depth: Math.max(0, published - arrived) }),
    delays: () => {
      const since = delays
      delays = []
      return since
    },
    verdict: () => {
      const all = { lost: 0, twice: 0, unknown: 0 }
      for (let n = 0; n < most; n++) {
        if (committedAt[n] > 0 && times[n] === 0) all.lost += 1
        if (committedAt[n] === 0 && times[n] > 0) all.unknown += 1
        if (times[n] > 1) all.twice += 1
      }
      return all
    }
  }
}
