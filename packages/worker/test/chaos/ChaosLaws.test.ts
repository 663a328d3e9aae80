/** How the chaos run reads its log, and its laws: each law finds a planted violation. */
import { assert, describe, it } from "@effect/vitest"
import { laws } from "../simulation/Laws.ts"
import { type Logged, readHistory } from "./ChangeHistory.ts"
import { Clocks } from "./Clocks.ts"
import type { Judgement } from "./Judgement.ts"
import { beginsOf } from "./Judging.ts"
import { lineOf } from "./MeterSums.ts"
import { operationLaws } from "./OperationLaws.ts"
import { timeoutsAreThePolicies } from "./PolicyLaws.ts"
import { REQUEST_TIMEOUT_MS, RETRY_DELAY_MS } from "./Processes.ts"
import { type ReplayRow, replayLaws } from "./ReplayLaws.ts"
import { retentionLaws } from "./RetentionLaws.ts"
import { sessionLaws } from "./SessionLaws.ts"
import type { Read, Session } from "./Sessions.ts"

type Row = NonNullable<Logged["new"]>

const logged = (kind: Logged["kind"], now: Row | null, old: Row | null = null, more: Partial<Logged> = {}) =>
  ({ xid: "1", commit: 1_000, at: 1_000, kind, old, new: now, ...more }) satisfies Logged

const broken = (laws: Readonly<Record<string, Judgement>>) =>
  Object.entries(laws).flatMap(([name, { violations }]) => (violations.length > 0 ? [name.slice(0, 2)] : []))

describe("the history", () => {
  it.each([
    ["a failure that an enabling overtook stands after it", "failed", ["enabled", "recorded"]],
    ["a success of a healthy endpoint stands where its call began", "delivered", ["recorded", "enabled"]]
  ])("§3.1 %s", (_, status, kinds) => {
    const endpoint = { id: "whe_1", generation: 0, enabled: false, consecutive_failures: 7, secret: "" }
    const enabled = { ...endpoint, generation: status === "failed" ? 1 : 0, enabled: true }
    const about = { attempt_ids: ["wha_1"], endpoints: ["whe_1"], generations: [0], arrivals: [1] }
    const call = { ...about, retry_afters: [null] }
    const attempt = {
      id: "wha_1",
      delivery_id: "whd_1",
      ordinal: 1,
      status,
      at: "2026-01-01",
      http_status: 500
    }
    const recording = { xid: "2", at: 900, commit: 1_100 }
    const { facts } = readHistory([
      logged("endpoint", enabled, endpoint),
      logged("record", call, null, recording),
      logged("attempt", attempt, null, recording)
    ])
    assert.deepEqual(
      facts.map(({ kind }) => kind),
      kinds
    )
  })
})

describe("the laws about delivery policies", () => {
  const endpoint = { id: "whe_1", generation: 0, enabled: true, consecutive_failures: 0, secret: "" }
  const patched = (policy: object, at: number) =>
    logged("endpoint", { ...endpoint, policy }, endpoint, { xid: `p${at}`, commit: at })
  const failed = { id: "wha_1", delivery_id: "whd_1", ordinal: 1, status: "failed", http_status: 500 }
  /** A failed attempt, recorded at 2,000 ms with this wait. */
  const recorded = (wait: number | null, more: Row = {}, streak: Row = {}) => {
    const about = { xid: "2", at: 2_000, commit: 2_001 }
    const call = { attempt_ids: ["wha_1"], endpoints: ["whe_1"], generations: [0], arrivals: [1] }
    return [
      logged("record", { ...call, retry_afters: [wait] }, null, about),
      logged("attempt", { ...failed, at: new Date(1_900).toISOString(), ...more }, null, about),
      logged("endpoint", { ...endpoint, consecutive_failures: 1, ...streak }, endpoint, about)
    ]
  }
  const worldOf = (log: ReadonlyArray<Logged>) => {
    const history = readHistory(log)
    const model = { facts: history.facts, endpoints: new Map(), queue: new Map(), notified: [] }
    const world = {
      model: { ...model, deliveries: new Map() },
      ...{ posts: [], answered: [], secrets: [], poison: null, retryDelayMs: RETRY_DELAY_MS, graceMs: 0 },
      ...{ reachMs: () => 100, repeatsOf: () => 0 }
    }
    return { history, world }
  }
  const brokenBy = (name: string, log: ReadonlyArray<Logged>) => laws[name]!(worldOf(log).world).length > 0

  const waits = patched({ retries: { kind: "waits", seconds: [3] }, jitter: 0.5 }, 1_500)
  const late = patched({ retries: { kind: "none" } }, 3_000)
  it.each<[string, boolean, ReadonlyArray<Logged>]>([
    ["the standard wait", false, recorded(RETRY_DELAY_MS)],
    ["another wait than the standard one", true, recorded(RETRY_DELAY_MS + 1)],
    ["a wait within its jitter", false, [waits, ...recorded(4_400)]],
    ["a wait beyond its jitter", true, [waits, ...recorded(4_501)]],
    ["the standard wait of an endpoint with a policy", true, [waits, ...recorded(RETRY_DELAY_MS)]],
    ["a delivery that is given up early", true, [waits, ...recorded(null)]],
    ["a wait by the policy that held then", false, [waits, ...recorded(3_000), late]]
  ])("§3.5 judge %s, and find a violation: %s", (_, expected, log) => {
    assert.equal(brokenBy("L5 schedule", log), expected)
  })

  const asking = { response_headers: '{"retry-after":"2"}' }
  it.each<[boolean, number, boolean]>([
    [true, 2_000, false],
    [true, RETRY_DELAY_MS, true],
    [false, RETRY_DELAY_MS, false],
    [false, 2_000, true]
  ])(
    "§3.5 where Retry-After counts: %s, judge a wait of %i ms, and find a violation: %s",
    (honorRetryAfter, wait, expected) => {
      const log = [patched({ honorRetryAfter }, 1_500), ...recorded(wait, asking)]
      assert.equal(brokenBy("L5 schedule", log), expected)
    }
  )

  const off = { enabled: false, disabled_reason: "gone" }
  const gone = { http_status: 410, status: "failed_permanent" }
  it.each<[string, boolean, object, Row, Row]>([
    ["a failure that does not disable", false, {}, {}, {}],
    ["a failure that disables too early", true, {}, {}, off],
    ["one that disables by its count", false, { disableAfter: { kind: "failures", count: 1 } }, {}, off],
    ["one that does not, and should", true, { disableAfter: { kind: "failures", count: 1 } }, {}, {}],
    ["one that never may", true, { disableAfter: { kind: "never" } }, {}, off],
    ["a 410 that disables", false, { onGone: "disable" }, gone, off],
    ["a 410 that may not", true, { onGone: "fail" }, gone, off]
  ])("§3.5 judge %s, and find a violation: %s", (_, expected, policy, attempt, row) => {
    assert.equal(brokenBy("L8 streaks", [patched(policy, 1_500), ...recorded(null, attempt, row)]), expected)
  })

  const twoASecond = { rateLimit: { requests: 2, perSeconds: 1 } }
  it.each<[string, boolean, ReadonlyArray<number>, ReadonlyArray<number>, object, object | null]>([
    ["as many as the rate allows", false, [3_000, 3_900, 4_001], [], twoASecond, null],
    ["one more", true, [3_000, 3_900, 3_990], [], twoASecond, null],
    ["one more that was never recorded", true, [3_000, 3_900], [3_990], twoASecond, null],
    ["a post of an attempt on record", false, [3_000, 3_900], [3_910], twoASecond, null],
    ["one more without a rate", false, [3_000, 3_900, 3_990], [], {}, null],
    ["one more after the rate was taken away", false, [3_000, 3_900, 3_990], [], twoASecond, {}],
    ["one more under a rate that was set long before", true, [3_000, 3_900, 3_990], [], {}, twoASecond]
  ])("§3.5 judge %s, and find a violation: %s", (_, expected, begun, posted, policy, changed) => {
    const made = { ...endpoint, secret: undefined, policy }
    const attempts = begun.flatMap((at, n) => {
      const [id, xid] = [`wha_${n}`, `a${n}`]
      const call = { attempt_ids: [id], endpoints: ["whe_1"], generations: [0], arrivals: [1] }
      const about = { xid, at, commit: at }
      const attempt = {
        ...failed,
        id,
        delivery_id: `whd_${n}`,
        duration_ms: 20,
        at: new Date(at).toISOString()
      }
      return [
        logged("record", { ...call, retry_afters: [null] }, null, about),
        logged("attempt", attempt, null, about)
      ]
    })
    const ids = [...begun.map((_, n) => `whd_${n}`), "whd_lost"]
    const { history, world } = worldOf([
      logged("endpoint", made, null, { xid: "e", commit: 900 }),
      ...ids.map((id) => logged("published", { id, endpoint_id: "whe_1" }, null, { xid: id })),
      ...(changed === null
        ? []
        : [logged("endpoint", { ...made, policy: changed }, made, { xid: "p", commit: 1_100 })]),
      ...attempts
    ])
    const posts = posted.map((at) => {
      const deliveryId = expected ? "whd_lost" : `whd_${begun.length - 1}`
      return { at, deliveryId, worker: 0, request: { url: "", headers: {}, body: "" } }
    })
    const judged = { ...world, rates: history.rates, begins: beginsOf(history, posts) }
    assert.equal(laws["L21 rates"]!(judged).length > 0, expected)
  })

  it.each<[number | null, number, boolean]>([
    [1_000, 1_000, false],
    [1_000, 1_900, true],
    [1_000, 900, true],
    [null, REQUEST_TIMEOUT_MS, false],
    [null, 1_000, true]
  ])(
    "§3.5 with %s ms to answer, judge a request that is given up after %i ms: %s",
    (timeoutMs, durationMs, expected) => {
      const seen = { failure_reason: "request_timeout", http_status: null, duration_ms: durationMs }
      const policy = timeoutMs === null ? {} : { timeoutSeconds: timeoutMs / 1_000 }
      const { history, world } = worldOf([patched(policy, 1_500), ...recorded(RETRY_DELAY_MS, seen)])
      assert.equal(timeoutsAreThePolicies(history, world).violations.length > 0, expected)
    }
  )
})

describe("the laws of replay jobs", () => {
  const replay = (id: string, source: string | null, more: Row = {}) => {
    const about = { endpoint_id: "whe_1", event_id: "evt_1", replay_id: "rpl_1" }
    return logged("published", { id, ...about, replayed_from: source, ...more })
  }
  const audit = (id: string, xid = "1") =>
    logged("audit", { action: "webhook.delivery_replayed", target_id: id }, null, { xid })
  const started = logged("replay", { id: "rpl_1", state: "running" })
  const whole = [started, replay("whd_1", "whd_0"), audit("whd_1")]
  const twice = [...whole, replay("whd_2", "whd_0"), audit("whd_2")]
  const missed = [replay("whd_1", null), replay("whd_2", null, { replay_id: "rpl_2" })]
  const cancelled = logged("replay", { id: "rpl_1", state: "cancelled" }, { id: "rpl_1" }, { commit: 999 })
  const done: ReplayRow = {
    ...{ id: "rpl_1", endpoint_id: "whe_1", state: "done", enabled: true },
    ...{ matched: 1, replayed: 1, failed: 0 }
  }

  it.each<[string, ReadonlyArray<string>, ReadonlyArray<Logged>, Partial<ReplayRow>?, boolean?]>([
    ["are silent when all is well", [], whole],
    ["notice a source that is replayed twice", ["R1"], twice, { matched: 2, replayed: 2 }],
    ["notice a missed event that is made up for twice", ["R1", "R4"], [started, ...missed]],
    ["notice a second job of one order", ["R2"], [...whole, logged("replay", { id: "rpl_2" })]],
    ["notice a job that is not there", ["R2"], whole.slice(1)],
    ["notice a job that replayed less than it says", ["R3"], whole, { replayed: 2, matched: 2 }],
    [
      "let a job find nothing of the missed events that another took",
      [],
      [
        ...[started, replay("whd_1", null, { event_id: "evt_2" }), audit("whd_1")],
        ...[missed[1]!, audit("whd_2")]
      ],
      { matched: 2, failed: 1 }
    ],
    ["notice a source that failed and is there", ["R3"], whole, { matched: 2, failed: 1 }],
    ["notice a job that does not end", ["R3"], whole, { state: "running" }],
    ["notice a job that nobody cancelled", ["R3"], whole, { state: "cancelled" }],
    ["let a job wait for its endpoint", [], whole, { state: "running", enabled: false }],
    ["notice a replay without its audit event", ["R4"], whole.slice(0, 2)],
    ["notice an audit event of another transaction", ["R4"], [...whole.slice(0, 2), audit("whd_1", "2")]],
    ["notice what a cancelled job makes", ["R5"], [...whole, cancelled], { state: "cancelled" }, true]
  ])("§4.6 %s", (_, expected, log, row = {}, isCancelled = false) => {
    const jobs = [{ id: "rpl_1", endpointId: "whe_1", cancelled: isCancelled }]
    assert.deepEqual(broken(replayLaws({ log, jobs, rows: [{ ...done, ...row }] })), expected)
  })
})

describe("the laws of retention", () => {
  const removed = (status: string, createdAt: number, at = 60_000) => {
    const old = { id: "whd_1", endpoint_id: "whe_1", status, created_at: new Date(createdAt).toISOString() }
    return logged("removed", null, old, { at })
  }
  const deletion = logged("endpoint", null, { id: "whe_1" })

  it.each<[string, ReadonlyArray<string>, ReadonlyArray<Logged>]>([
    ["are silent when it is old and ended", [], [removed("delivered", 39_000)]],
    ["notice what is too young", ["T1"], [removed("delivered", 41_000)]],
    ["notice what has work to do", ["T1"], [removed("failed", 39_000)]],
    ["notice what goes when retention does not run", ["T1"], [removed("delivered", 39_000, 70_000)]],
    ["do not count what goes with its endpoint", [], [removed("pending", 59_000), deletion]]
  ])("spec §8 %s", (_, expected, log) => {
    const runs = [{ keptMs: 20_000, from: 59_000, to: 61_000 }]
    const last = { cases: 1, violations: [] }
    assert.deepEqual(broken(retentionLaws({ log, runs, deliveries: 1, notWhole: [], last })), expected)
  })
})

describe("the laws of sessions and tokens", () => {
  it.each<
    readonly [
      Session["ends"],
      Read["by"],
      began: number,
      status: number,
      expected: string,
      code: number | null
    ]
  >([
    ["sign-out", "cookie", 1_101, 200, "S1", null],
    ["sign-out", "cookie", 1_101, 401, "", null],
    ["sign-out", "cookie", 900, 401, "S2", null],
    ["sign-out", "cookie", 900, 503, "", null],
    ["sign-out", "cookie", 1_050, 200, "", null],
    ["revocation", "token", 2_000, 200, "", null],
    ["revocation", "token", 2_200, 200, "S3", null],
    ["expiry", "token", 1_101, 200, "S3", null],
    ["sign-out", "cookie", 900, 200, "S4", 201]
  ])(
    "§5.1 after a %s at 1,100 ms, a %s that is answered at %i ms with %i breaks: %s",
    (ends, by, began, status, expected, code) => {
      const reads = [{ by, began, ended: began + 10, status }]
      const codesUsedAgain = code === null ? [] : [code]
      const laws = sessionLaws([{ ends, reads, codesUsedAgain, until: 1_000, over: 1_100 }])
      assert.equal(broken(laws).join(), expected)
    }
  )
})

describe("the laws of operational events", () => {
  const system = "wsp_system"
  const about = { workspace: { id: "wsp_acme", slug: "acme" }, endpointId: "whe_1" }
  let count = 0
  const told = (event_type: string, payload: object = about, more: Partial<Logged> = {}) =>
    logged(
      "event",
      { id: `evt_${++count}`, workspace_id: system, event_type, payload: JSON.stringify(payload) },
      null,
      more
    )
  const endpoint = { id: "whe_1", workspace_id: "wsp_acme", url: "a", enabled: true, recovers_from: null }
  const turned = (from: string | null, to: string | null) => [
    logged("record", {}),
    logged("endpoint", { ...endpoint, recovers_from: to }, { ...endpoint, recovers_from: from })
  ]
  const made = logged("endpoint", endpoint)

  it.each<[string, string, ReadonlyArray<Logged>]>([
    ["a change that is told", "", [made, told("endpoint.created")]],
    ["a change that is not told", "O1", [made]],
    ["a change that is told twice", "O1", [made, told("endpoint.created"), told("endpoint.created")]],
    ["a change that is told elsewhere", "O1,O1", [made, told("endpoint.created", about, { xid: "2" })]],
    ["what nobody did", "O1", [told("endpoint.deleted")]],
    [
      "a change of the system workspace that is told",
      "O1,O3",
      [
        logged("endpoint", { ...endpoint, workspace_id: system }),
        told("endpoint.created", { ...about, workspace: { id: system, slug: "platform" } })
      ]
    ],
    ["a URL", "O3", [made, told("endpoint.created", { ...about, url: "https://example.com" })]],
    ["a streak that turns", "", [...turned(null, "failing"), told("endpoint.failing")]],
    ["a streak that turns untold", "O2", turned(null, "failing")],
    ["failing, said again", "O2", [...turned("failing", "failing"), told("endpoint.failing")]],
    ["a recovery from nothing", "O2", [...turned(null, null), told("endpoint.recovered")]],
    [
      "a recovery and a new streak in one record",
      "",
      [...turned("enabling", "failing"), told("endpoint.recovered"), told("endpoint.failing")]
    ],
    ["a streak outside of a record", "O2", [made, told("endpoint.created"), told("endpoint.failing")]]
  ])("§6.4 judge %s, and find a violation of: %s", (_, expected, log) => {
    const laws = Object.entries(operationLaws(log, system))
    const found = laws.flatMap(([name, { violations }]) => violations.map(() => name.slice(0, 2)))
    assert.equal(found.join(), expected)
  })
})

describe("what the meters add up to", () => {
  it.each([
    ["more than is on record", 301, 300, 0, false, true],
    ["more than is on record, where only processes are killed", 301, 300, 9, true, true],
    ["all of it", 300, 300, 0, false, false],
    ["all of it, where only processes are killed", 300, 300, 9, true, false],
    ["all but what killed processes took along", 291, 300, 9, true, false],
    ["less than that", 290, 300, 9, true, true],
    ["nothing, as of a renamed meter", 0, 300, 9, false, true],
    ["less than half", 145, 300, 9, false, true],
    ["half", 146, 300, 9, false, false],
    ["nothing of a few", 0, 28, 9, false, false]
  ])("§10 %s: %i of %i with %i in gaps, only kills %s, is wrong: %s", (_, ...row) => {
    const [counted, onRecord, inGaps, onlyKills, isWrong] = row
    assert.equal(lineOf({ counted, inGaps, onRecord, onlyKills }).violations.length > 0, isWrong)
  })
})

describe("wrong clocks", () => {
  it("§3.4 are known for as long as they were set", () => {
    const clocks = new Clocks()
    const before = Date.now()
    clocks.set("w0.1", 3_600_000)

    assert.isFalse(clocks.wasOff("w0.1", before - 2_000, before - 1_000))
    assert.isTrue(clocks.wasOff("w0.1", before - 1_000, Date.now()))
    assert.isFalse(clocks.wasOff("w0.2", before, Date.now()))
  })
})
