/** How far each shard was read. Moments in microseconds by the database's clock, `now` in milliseconds. */
import { assert, describe, it } from "@effect/vitest"
import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Due } from "@posthorn/persistence/engine/Queue"
import { monotonicMs } from "@posthorn/telemetry/Elapsed"
import { LeaseTerm } from "../../src/dispatcher/Leases.ts"
import { NEVER, ReadCursors } from "../../src/polling/ReadCursors.ts"
import { rows } from "../dispatcher/Rows.ts"

const answer = (horizon: number, more: Partial<Due> = {}): Due => ({
  horizon: databaseMicros(horizon),
  open: [],
  rows: [],
  stopped: [],
  ...more
})
const PER_SHARD = 2

const following = (...shards: ReadonlyArray<number>) => {
  const cursors = new ReadCursors()
  const terms = shards.map((shard) => new LeaseTerm(shard))
  cursors.follow(terms)
  return { cursors, terms, at: () => cursors.list.map(({ deliveryId, due }) => ({ deliveryId, due })) }
}

describe("read cursors", () => {
  it("§3.1 move to the time of the read, or to the last row of a shard that has more", () => {
    const { at, cursors } = following(0, 1, 2)
    const [a, b] = rows("a", 2, { shard: 1 })
    const more = cursors.advance(
      cursors.list,
      answer(9_000, { rows: [a!, b!], stopped: [{ shard: 2, due: databaseMicros(7), deliveryId: "whd_x" }] }),
      PER_SHARD,
      monotonicMs(0)
    )

    assert.isTrue(more)
    assert.deepStrictEqual(at(), [
      { deliveryId: "", due: 9_000 },
      { deliveryId: b!.deliveryId, due: b!.due },
      { deliveryId: "whd_x", due: 7 }
    ])
  })

  it("§3.1 stay where they are in a shard that was lost during the read, and begin anew in its next term", () => {
    const { cursors, terms } = following(0)
    const [term] = terms
    const read = cursors.list
    term!.lost = true
    cursors.advance(read, answer(9_000), PER_SHARD, monotonicMs(0))
    const again = new LeaseTerm(0)

    assert.isTrue(cursors.list[0]!.isNew)
    assert.isTrue(cursors.follow([again]))
    assert.isFalse(cursors.follow([again]))
    assert.strictEqual(cursors.list[0]!.term, again)
  })

  it("§3.1 rewind, and never move on by that", () => {
    const { at, cursors } = following(0)
    cursors.advance(cursors.list, answer(9_000), PER_SHARD, monotonicMs(0))
    cursors.goBack(databaseMicros(9_500))
    assert.deepStrictEqual(at(), [{ deliveryId: "", due: 9_000 }])
    cursors.goBack(databaseMicros(4_000))
    assert.deepStrictEqual(at(), [{ deliveryId: "", due: 4_000 }])
    assert.strictEqual(cursors.recently(1), 8_000)
  })

  it("§3.1 tell which published row no read can have returned", () => {
    const { cursors } = following(0)
    const [row] = rows("a", 1, { due: databaseMicros(9_001) })
    assert.isFalse(cursors.isUnread(row!))
    cursors.advance(cursors.list, answer(9_000), PER_SHARD, monotonicMs(0))

    assert.isTrue(cursors.isUnread(row!))
    assert.isFalse(cursors.isUnread({ ...row!, due: databaseMicros(9_000) }))
    assert.isFalse(cursors.isUnread({ ...row!, shard: 1 }))
  })

  it("§3.4 know when the next row becomes due, until it is", () => {
    const { cursors } = following(0)
    cursors.advance(cursors.list, answer(1_000_000), PER_SHARD, monotonicMs(500))
    assert.isFalse(cursors.knowsNextDue)
    cursors.expect(databaseMicros(1_200_000))
    assert.strictEqual(cursors.untilDue(monotonicMs(500)), NEVER)

    cursors.foundNextDue(databaseMicros(1_500_000))
    assert.strictEqual(cursors.untilDue(monotonicMs(600)), 400)
    cursors.expect(databaseMicros(1_200_000))
    assert.strictEqual(cursors.untilDue(monotonicMs(600)), 100)
    cursors.advance(cursors.list, answer(1_200_000), PER_SHARD, monotonicMs(700))
    assert.isFalse(cursors.knowsNextDue)
  })

  it("take no moment of one clock for one of the other", () => {
    const { cursors } = following(0)
    // @ts-expect-error
    cursors.expect(monotonicMs(1))
    // @ts-expect-error
    cursors.untilDue(databaseMicros(1))
  })
})
