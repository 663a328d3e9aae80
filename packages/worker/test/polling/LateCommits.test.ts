/** Where the next read rewinds to for transactions that publish while others read. Moments in microseconds. */
import { assert, describe, it } from "@effect/vitest"
import { LateCommits } from "../../src/polling/LateCommits.ts"

const YOUNG_MS = 100
const MS = 1_000
/** Due times are truncated to milliseconds. */
const CUT = 1 * MS
const old = () => false

const open = (...transactions: ReadonlyArray<string>) =>
  transactions.map((transaction) => ({ transaction, shard: 0 }))

describe("late commits", () => {
  it("§3.1 without publishing transactions the next read rewinds to the last one, but for truncated due times", () => {
    const { back, soon, sweeps, transactionsChanged } = new LateCommits(YOUNG_MS).seen(
      [],
      50 * MS,
      40 * MS,
      old
    )

    assert.deepStrictEqual(
      [back, soon, sweeps, transactionsChanged],
      [50 * MS - CUT, 50 * MS - CUT, false, false]
    )
  })

  it("§3.1 a transaction that is open may have published since the read before, and is read again while young", () => {
    const late = new LateCommits(YOUNG_MS)
    late.seen([], 40 * MS, 30 * MS, old)
    const first = late.seen(open("a"), 50 * MS, 40 * MS, old)
    const aged = late.seen(open("a"), 200 * MS, 190 * MS, old)

    assert.deepStrictEqual([first.soon, first.back], [40 * MS - CUT, 50 * MS - CUT])
    assert.isTrue(first.transactionsChanged && late.isOpen(0) && !late.isOpen(1))
    assert.deepStrictEqual([aged.soon, aged.transactionsChanged], [200 * MS - CUT, false])
  })

  it("§3.1 once it has ended, the next read rewinds to before it published, however long it was open", () => {
    const late = new LateCommits(YOUNG_MS)
    late.seen(open("a"), 50 * MS, 40 * MS, old)
    late.seen(open("a", "b"), 5_000 * MS, 4_990 * MS, old)
    const { back, sweeps, transactionsChanged } = late.seen(open("b"), 6_000 * MS, 5_990 * MS, old)

    assert.deepStrictEqual([back, sweeps, transactionsChanged], [40 * MS - CUT, false, true])
    assert.strictEqual(late.seen(open("b"), 6_010 * MS, 6_000 * MS, old).back, 6_010 * MS - CUT)
  })

  it("§3.1 a sweep finds what a transaction committed that was open before the shard's first read", () => {
    const late = new LateCommits(YOUNG_MS)
    const before = late.seen(open("a"), 50 * MS, 40 * MS, () => true)
    const after = late.seen([], 60 * MS, 50 * MS, old)

    assert.deepStrictEqual([before.sweeps, after.sweeps, after.back], [false, true, 60 * MS - CUT])
  })
})
