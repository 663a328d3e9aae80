/** Where the next read rewinds to for transactions that publish while others read. Moments in microseconds. */
import { assert, describe, it } from "@effect/vitest"
import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import { LateCommits } from "../../src/polling/LateCommits.ts"

const YOUNG_MS = 100
const MS = 1_000
const at = (ms: number) => databaseMicros(ms * MS)
/** Due times are truncated to milliseconds. */
const CUT = 1 * MS
const old = () => false

const open = (...transactions: ReadonlyArray<string>) =>
  transactions.map((transaction) => ({ transaction, shard: 0 }))

describe("late commits", () => {
  it("§3.1 without publishing transactions the next read rewinds to the last one, but for truncated due times", () => {
    const { back, soon, sweeps, transactionsChanged } = new LateCommits(YOUNG_MS).seen(
      [],
      at(50),
      at(40),
      old
    )

    assert.deepStrictEqual(
      [back, soon, sweeps, transactionsChanged],
      [50 * MS - CUT, 50 * MS - CUT, false, false]
    )
  })

  it("§3.1 a transaction that is open may have published since the read before, and is read again while young", () => {
    const late = new LateCommits(YOUNG_MS)
    late.seen([], at(40), at(30), old)
    const first = late.seen(open("a"), at(50), at(40), old)
    const aged = late.seen(open("a"), at(200), at(190), old)

    assert.deepStrictEqual([first.soon, first.back], [40 * MS - CUT, 50 * MS - CUT])
    assert.isTrue(first.transactionsChanged && late.isOpen(0) && !late.isOpen(1))
    assert.deepStrictEqual([aged.soon, aged.transactionsChanged], [200 * MS - CUT, false])
  })

  it("§3.1 once it has ended, the next read rewinds to before it published, however long it was open", () => {
    const late = new LateCommits(YOUNG_MS)
    late.seen(open("a"), at(50), at(40), old)
    late.seen(open("a", "b"), at(5_000), at(4_990), old)
    const { back, sweeps, transactionsChanged } = late.seen(open("b"), at(6_000), at(5_990), old)

    assert.deepStrictEqual([back, sweeps, transactionsChanged], [40 * MS - CUT, false, true])
    assert.strictEqual(late.seen(open("b"), at(6_010), at(6_000), old).back, 6_010 * MS - CUT)
  })

  it("§3.1 a sweep finds what a transaction committed that was open before the shard's first read", () => {
    const late = new LateCommits(YOUNG_MS)
    const before = late.seen(open("a"), at(50), at(40), () => true)
    const after = late.seen([], at(60), at(50), old)

    assert.deepStrictEqual([before.sweeps, after.sweeps, after.back], [false, true, 60 * MS - CUT])
  })
})
