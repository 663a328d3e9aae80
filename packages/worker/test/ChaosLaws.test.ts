/** The laws that the chaos run asks of replay jobs, retention, sessions, meters and clocks: each finds what is planted for it. */
import { assert, describe, it } from "@effect/vitest"
import { Clocks, closest } from "./chaos/Clocks.ts"
import type { Logged } from "./chaos/History.ts"
import { type ReplayRow, replayLaws } from "./chaos/ReplayLaws.ts"
import { retentionLaws } from "./chaos/RetentionLaws.ts"
import { lineOf } from "./chaos/Tally.ts"
import { visitLaws } from "./chaos/VisitLaws.ts"
import type { Read, Visit } from "./chaos/Visits.ts"

type Row = NonNullable<Logged["new"]>

const logged = (
  kind: Logged["kind"],
  now: Row | null,
  old: Row | null = null,
  more: Partial<Logged> = {}
): Logged => ({
  xid: "1",
  commit: 1_000,
  at: 1_000,
  kind,
  old,
  new: now,
  ...more
})

const replay = (id: string, source: string | null, more: Row = {}) =>
  logged("published", {
    id,
    endpoint_id: "whe_1",
    event_id: "evt_1",
    replay_id: "rpl_1",
    replayed_from: source,
    ...more
  })

const audit = (id: string, xid = "1") =>
  logged("audit", { action: "webhook.delivery_replayed", target_id: id }, null, { xid })

const started = logged("replay", { id: "rpl_1", state: "running" })

const done: ReplayRow = {
  id: "rpl_1",
  endpoint_id: "whe_1",
  state: "done",
  matched: 1,
  replayed: 1,
  failed: 0,
  enabled: true
}

/** The laws that are broken by these. */
const brokenReplays = (log: ReadonlyArray<Logged>, row: Partial<ReplayRow> = {}, cancelled = false) => {
  const jobs = [{ id: "rpl_1", endpointId: "whe_1", cancelled }]
  const laws = replayLaws({ log, jobs, rows: [{ ...done, ...row }] })
  return Object.entries(laws).flatMap(([name, { violations }]) =>
    violations.length > 0 ? [name.slice(0, 2)] : []
  )
}

describe("the laws of replay jobs", () => {
  const whole = [started, replay("whd_1", "whd_0"), audit("whd_1")]
  const two = [...whole, replay("whd_2", "whd_0"), audit("whd_2")]

  it("decision §10 are silent when all is well", () => {
    assert.deepEqual(brokenReplays(whole), [])
  })

  it("decision §10 notice a source that is replayed twice, and a missed event that is made up for twice", () => {
    assert.deepEqual(brokenReplays(two, { matched: 2, replayed: 2 }), ["R1"])
    const missed = [replay("whd_1", null), replay("whd_2", null, { replay_id: "rpl_2" })]
    assert.include(brokenReplays([started, ...missed]), "R1")
  })

  it("decision §10 notice a second job of one order, and one that is not there", () => {
    assert.deepEqual(brokenReplays([...whole, logged("replay", { id: "rpl_2" })]), ["R2"])
    assert.deepEqual(brokenReplays(whole.slice(1)), ["R2"])
  })

  it("decision §10 notice progress that does not add up, and a job that does not end", () => {
    assert.deepEqual(brokenReplays(whole, { replayed: 2, matched: 2 }), ["R3"])
    assert.deepEqual(brokenReplays(whole, { matched: 2, failed: 1 }), ["R3"])
    assert.deepEqual(brokenReplays(whole, { state: "running" }), ["R3"])
    assert.deepEqual(brokenReplays(whole, { state: "cancelled" }), ["R3"])
    assert.deepEqual(brokenReplays(whole, { state: "running", enabled: false }), [])
  })

  it("spec §5 notice a replay without its audit event, and one of another transaction", () => {
    assert.deepEqual(brokenReplays(whole.slice(0, 2)), ["R4"])
    assert.deepEqual(brokenReplays([...whole.slice(0, 2), audit("whd_1", "2")]), ["R4"])
  })

  it("decision §10 notice what a job makes after it was cancelled", () => {
    const cancelled = logged("replay", { id: "rpl_1", state: "cancelled" }, { id: "rpl_1" }, { commit: 999 })
    assert.deepEqual(brokenReplays([...whole, cancelled], { state: "cancelled" }, true), ["R5"])
  })
})

describe("the laws of retention", () => {
  const removal = (status: string, createdAt: number) =>
    logged(
      "removed",
      null,
      {
        id: "whd_1",
        endpoint_id: "whe_1",
        status,
        created_at: new Date(createdAt).toISOString()
      },
      { at: 60_000 }
    )
  const broken = (log: ReadonlyArray<Logged>) =>
    retentionLaws({
      log,
      runs: [{ keptMs: 20_000, from: 59_000, to: 61_000 }],
      deliveries: 1,
      notWhole: [],
      last: { cases: 1, violations: [] }
    })["T1 only the old and ended is removed"]!.violations.length

  it("spec §8 notice what is too young, has work to do, or goes when nobody tidies", () => {
    assert.equal(broken([removal("delivered", 39_000)]), 0)
    assert.equal(broken([removal("delivered", 41_000)]), 1)
    assert.equal(broken([removal("failed", 39_000)]), 1)
    assert.equal(broken([{ ...removal("delivered", 39_000), at: 70_000 }]), 1)
  })

  it("spec §8 do not count what goes with its endpoint", () => {
    const deletion = logged("endpoint", null, { id: "whe_1" })
    assert.equal(broken([removal("pending", 59_000), deletion]), 0)
  })
})

describe("the laws of sessions and tokens", () => {
  const broken = (
    ends: Visit["ends"],
    read: Pick<Read, "began" | "by" | "status">,
    codes: ReadonlyArray<number> = []
  ) => {
    const reads = [{ ...read, ended: read.began + 10 }]
    const visits = [{ ends, reads, codesUsedAgain: [...codes], until: 1_000, over: 1_100 }]
    return Object.entries(visitLaws(visits)).flatMap(([name, { violations }]) =>
      violations.length > 0 ? [name.slice(0, 2)] : []
    )
  }

  it("decision §9 notice a session that opens something when it is over, and one that is refused while it lives", () => {
    assert.deepEqual(broken("sign-out", { began: 1_101, by: "cookie", status: 200 }), ["S1"])
    assert.deepEqual(broken("sign-out", { began: 1_101, by: "cookie", status: 401 }), [])
    assert.deepEqual(broken("sign-out", { began: 900, by: "cookie", status: 401 }), ["S2"])
    assert.deepEqual(broken("sign-out", { began: 900, by: "cookie", status: 503 }), [])
    assert.deepEqual(broken("sign-out", { began: 1_050, by: "cookie", status: 200 }), [])
  })

  it("decision §3 give a revoked token a second, and one that has expired nothing", () => {
    assert.deepEqual(broken("revocation", { began: 2_000, by: "token", status: 200 }), [])
    assert.deepEqual(broken("revocation", { began: 2_200, by: "token", status: 200 }), ["S3"])
    assert.deepEqual(broken("expiry", { began: 1_101, by: "token", status: 200 }), ["S3"])
  })

  it("decision §9 notice a code that opens twice", () => {
    assert.deepEqual(broken("sign-out", { began: 900, by: "cookie", status: 200 }, [201]), ["S4"])
  })
})

describe("what the meters add up to", () => {
  const isWrong = (counted: number, onRecord: number, inGaps: number, onlyKills: boolean) =>
    lineOf({ counted, inGaps, onRecord, onlyKills }).violations.length > 0

  it("decision §4 is never more than is on record", () => {
    assert.deepEqual([isWrong(301, 300, 0, false), isWrong(301, 300, 9, true)], [true, true])
    assert.deepEqual([isWrong(300, 300, 0, false), isWrong(300, 300, 9, true)], [false, false])
  })

  it("decision §4 misses what killed processes took along, and no more where nothing else goes wrong", () => {
    assert.deepEqual([isWrong(291, 300, 9, true), isWrong(290, 300, 9, true)], [false, true])
  })

  it("decision §4 is not that of a renamed meter, nor of one that nobody read, whatever else goes wrong", () => {
    assert.deepEqual([isWrong(0, 300, 9, false), isWrong(145, 300, 9, false)], [true, true])
    assert.deepEqual([isWrong(146, 300, 9, false), isWrong(0, 28, 9, false)], [false, false])
  })
})

describe("wrong clocks", () => {
  it("decision §7 are known for as long as they were set, and the one that fits is taken", () => {
    const clocks = new Clocks()
    const before = Date.now()
    clocks.set("w0.1", 3_600_000)

    assert.deepEqual(clocks.off("w0.1", before - 2_000, before - 1_000), [0])
    assert.deepEqual(clocks.off("w0.1", before - 1_000, Date.now()), [0, 3_600_000])
    assert.deepEqual(clocks.off("w0.2", before, Date.now()), [0])
    assert.equal(closest([0, 3_600_000], 3_601_500, 1_000), 3_600_000)
  })
})
