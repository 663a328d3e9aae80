/** What recording writes, what it leaves unchanged, and what it waits for. */
import assert from "node:assert/strict"
import { FAILURE_LIMIT } from "@posthorn/domain/DeliveryPolicy"
import type { Delivery, Scenario, Stage } from "./Stage.ts"

const FAILURES =
  "select id, consecutive_failures as failures, enabled, disabled_reason as reason from posthorn.endpoints order by id"

/** An endpoint of a new workspace, and deliveries to it. */
const scene = async (stage: Stage, count: number, failures = 0) => {
  const acme = await stage.workspace()
  const endpoint = await stage.endpoint(acme, { failures })
  return { acme, endpoint, deliveries: await stage.deliveries(acme, "acme", count) }
}

const queued = (stage: Stage) =>
  stage.rows(
    "select delivery_id as id, attempts, claims, due_at > now() as later from posthorn.queue order by 1"
  )

/** `record` and the functions that it calls. */
const RECORD = ["record", "write_attempts", "count_failures"]
const TOO_LATE = ["record", "too_late"]

export const recordings: ReadonlyArray<Scenario> = [
  {
    title: "each outcome is written to its own delivery and queue row, and to no other",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 5)
      const [good, bad, refused, spent, untouched] = deliveries as [
        Delivery,
        Delivery,
        Delivery,
        Delivery,
        Delivery
      ]
      await stage.rows("update posthorn.queue set claims = 3")
      const answer = await stage.record([
        stage.observation(good, { status: "delivered" }),
        stage.observation(bad),
        stage.observation(refused, { status: "failed_permanent" }),
        stage.observation(spent, { exhausted: true })
      ])
      assert.deepEqual([answer.recorded, answer.dead_lettered], [4, 1])
      assert.deepEqual(await stage.rows("select status, attempts from posthorn.deliveries order by id"), [
        { status: "delivered", attempts: 1 },
        { status: "failed", attempts: 1 },
        { status: "failed_permanent", attempts: 1 },
        { status: "failed", attempts: 1 },
        { status: "pending", attempts: 0 }
      ])
      assert.deepEqual(await queued(stage), [
        { id: bad.id, attempts: 1, claims: 0, later: true },
        { id: untouched.id, attempts: 0, claims: 3, later: false }
      ])
      assert.deepEqual(await stage.rows("select delivery_id from posthorn.dead_letters"), [
        { delivery_id: spent.id }
      ])
      assert.equal((await stage.rows("select from posthorn.attempts")).length, 4)
    }
  },
  {
    title: "the first observation wins: one that comes again, too early or too late changes nothing",
    of: RECORD,
    play: async (stage) => {
      const { deliveries, endpoint } = await scene(stage, 3)
      const [done, failing, waiting] = deliveries as [Delivery, Delivery, Delivery]
      await stage.record([stage.observation(done, { status: "delivered" }), stage.observation(failing)])
      const again = [
        stage.observation(done, { ordinal: 2 }),
        stage.observation(failing, { status: "delivered" }),
        stage.observation(waiting, { ordinal: 2, status: "delivered" })
      ]
      assert.equal((await stage.record(again)).recorded, 0)
      // Also beside a delivery that counts: an observation that was not stored changes no streak.
      const late = await stage.record([stage.observation(failing), stage.observation(waiting)])
      assert.equal(late.recorded, 1)
      assert.deepEqual(await stage.rows(FAILURES), [
        { id: endpoint, failures: 2, enabled: true, reason: null }
      ])
      assert.equal((await stage.rows("select from posthorn.attempts")).length, 3)
    }
  },
  {
    title: "what is not on record is told from what an earlier call stored, by when it arrived",
    of: TOO_LATE,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 6)
      const [mine, theirs, early, fresh, failing, gone] = deliveries as [
        Delivery,
        Delivery,
        Delivery,
        Delivery,
        Delivery,
        Delivery
      ]
      const stored = stage.observation(mine, { status: "delivered" })
      const failed = stage.observation(failing)
      assert.deepEqual((await stage.record([failed, stored])).too_late, [])
      await stage.record([stage.observation(theirs, { status: "delivered" })])
      await stage.rows("delete from posthorn.deliveries where id = $1", gone.id)
      const again = await stage.record([
        stage.observation(gone),
        stage.observation(fresh),
        stage.observation(theirs, { status: "delivered" }),
        stored,
        stage.observation(early, { ordinal: 2 }),
        failed
      ])
      assert.equal(again.recorded, 1)
      assert.deepEqual((again.too_late as ReadonlyArray<number>).toSorted(), [0, 2, 4])
      // Its second attempt is a different one, although the delivery and the id are the same.
      const second = await stage.record([{ ...failed, ordinal: 3 }, stage.observation(mine)])
      assert.deepEqual((second.too_late as ReadonlyArray<number>).toSorted(), [0, 1])
    }
  },
  {
    title: "a dead letter that is there already is no obstacle",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 1)
      await stage.rows(
        "insert into posthorn.dead_letters (workspace_id, delivery_id) select workspace_id, id from posthorn.deliveries"
      )
      assert.equal((await stage.record([stage.observation(deliveries[0]!, { exhausted: true })])).recorded, 1)
    }
  },
  {
    title:
      "the streak belongs to the endpoint, continues from its stored value, and starts again after a success",
    of: RECORD,
    play: async (stage) => {
      const acme = await stage.workspace()
      const [one, two] = [
        await stage.endpoint(acme, { failures: 4, types: ["a"] }),
        await stage.endpoint(acme, { failures: 7, types: ["b"] })
      ]
      const all = [...(await stage.deliveries(acme, "acme", 5, "a"))]
      const failed = (n: number) => stage.observation(all[n]!)
      await stage.record([failed(0), failed(1)])
      assert.deepEqual(
        (await stage.rows(FAILURES)).map(({ failures }) => failures),
        [6, 7]
      )
      await stage.record([failed(2), stage.observation(all[3]!, { status: "delivered" }), failed(4)])
      assert.deepEqual(await stage.rows(FAILURES), [
        { id: one, failures: 1, enabled: true, reason: null },
        { id: two, failures: 7, enabled: true, reason: null }
      ])
      const [more] = (await stage.deliveries(acme, "acme", 1, "a")).filter(
        ({ id }) => !all.some((known) => known.id === id)
      )
      await stage.record([stage.observation(more!, { status: "delivered" })])
      assert.equal((await stage.rows(FAILURES))[0]!.failures, 0)
    }
  },
  {
    title: "an attempt that began before the endpoint was enabled again does not count",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 2)
      await stage.rows("update posthorn.endpoints set generation = 1")
      await stage.record(deliveries.map((one, n) => stage.observation(one, { generation: n })))
      assert.equal((await stage.rows(FAILURES))[0]!.failures, 1)
    }
  },
  {
    title:
      "the twentieth failure in a row disables its endpoint, once, and no other; fewer failures disable nothing",
    of: [...RECORD, "endpoint_stopped"],
    play: async (stage) => {
      const acme = await stage.workspace()
      const breaking = await stage.endpoint(acme, { failures: 17, types: ["a"] })
      const failing = await stage.endpoint(acme, { failures: 3, types: ["b"] })
      const off = await stage.endpoint(acme, { failures: 25, types: ["c"] })
      const marks = (id: string) =>
        stage.row(
          "select disabled_at, updated_at, disabled_reason as reason from posthorn.endpoints where id = $1",
          id
        )
      await stage.deliveries(acme, "acme", 4, "a")
      await stage.deliveries(acme, "acme", 2, "b")
      const all = await stage.deliveries(acme, "acme", 1, "c")
      const to = (endpoint: string) => all.filter((one) => one.endpoint === endpoint)
      await stage.rows(
        "update posthorn.endpoints set enabled = false, disabled_reason = 'manual', disabled_at = '2026-01-01' where id = $1",
        off
      )
      const [wasFailing, wasOff] = [await marks(failing), await marks(off)]
      await stage.record(
        to(breaking)
          .slice(0, 2)
          .map((one) => stage.observation(one))
      )
      assert.equal((await marks(breaking)).reason, null)
      const group = [...to(breaking).slice(2), ...to(failing), ...to(off)]
      const answer = await stage.record(group.map((one) => stage.observation(one)))
      assert.deepEqual(answer.disabled, [breaking])
      const now = await marks(breaking)
      assert.equal(now.reason, "consecutive_failures")
      assert.notEqual(now.disabled_at, null)
      assert.deepEqual(now.disabled_at, now.updated_at)
      assert.deepEqual([await marks(failing), await marks(off)], [wasFailing, wasOff])
      assert.deepEqual(await stage.rows("select target_id, action from posthorn.audit_events"), [
        { target_id: breaking, action: "webhook.endpoint_auto_disabled" }
      ])
      assert.equal((await stage.rows("select from posthorn.notifications")).length, 1)
      assert.deepEqual(
        (await stage.rows(FAILURES)).map(({ failures }) => failures),
        [21, 5, 26]
      )
    }
  },
  {
    title: "a test's request is kept with the header that told it from others",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 2)
      const [test, other] = deliveries as [Delivery, Delivery]
      await stage.rows("update posthorn.deliveries set event_id = null where id = $1", test.id)
      await stage.record([
        stage.observation(test, { signature: "v1,x" }),
        stage.observation(other, { signature: "v1,x" })
      ])
      assert.deepEqual(
        await stage.rows(
          'select delivery_id as id, request_headers like \'%,"x-posthorn-test":"true"}\' as test from posthorn.attempts order by 1'
        ),
        [
          { id: test.id, test: true },
          { id: other.id, test: false }
        ]
      )
    }
  },
  {
    title:
      "a request with a profile passes its stored headers; those of other requests are built from the shared ones",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 3)
      const [told, made, none] = deliveries as [Delivery, Delivery, Delivery]
      await stage.record([
        stage.observation(told, { requestHeaders: '{"x-key":"sealed:1"}' }),
        stage.observation(made, { signature: "v1,x" }),
        stage.observation(none)
      ])
      const kept = await stage.rows(
        "select request_headers as headers from posthorn.attempts order by delivery_id"
      )
      assert.deepEqual([kept[0]!.headers, kept[2]!.headers], ['{"x-key":"sealed:1"}', "{}"])
      assert.match(kept[1]!.headers as string, /"webhook-signature":"v1,x"/)
    }
  },
  {
    title:
      "if the policy of an endpoint or its workspace changed since a failure was judged, nothing of that endpoint is written, and the result names it",
    of: [...RECORD, "policy_version"],
    play: async (stage) => {
      const acme = await stage.workspace()
      const one = await stage.endpoint(acme, { failures: 2, types: ["a"] })
      const two = await stage.endpoint(acme, { types: ["b"] })
      const other = await stage.workspace("other")
      await stage.rows(`update posthorn.workspaces set policy = '{"jitter": 0.1}' where id = $1`, other)
      const ofOther = await stage.endpoint(other)
      await stage.deliveries(acme, "acme", 3, "a")
      const all = await stage.deliveries(acme, "acme", 1, "b")
      const [first, second, third] = all.filter(({ endpoint }) => endpoint === one) as [
        Delivery,
        Delivery,
        Delivery
      ]
      const version = async (id: string) =>
        (await stage.value(
          `select posthorn.policy_version(e.policy, w.policy)::text from posthorn.endpoints e
            join posthorn.workspaces w on w.id = e.workspace_id where e.id = $1`,
          id
        )) as string
      assert.equal(await version(one), "0")
      assert.notEqual(await version(ofOther), "0")
      await stage.rows(`update posthorn.endpoints set policy = '{"onGone": "disable"}' where id = $1`, one)
      const group = [stage.observation(first), stage.observation(second, { status: "delivered" })]
      const rest = all.filter(({ endpoint }) => endpoint === two)
      const answer = await stage.record([...group, ...rest.map((delivery) => stage.observation(delivery))])
      assert.deepEqual([answer.recorded, answer.changed], [1, [one]])
      assert.deepEqual(
        (await stage.rows(FAILURES)).map(({ failures }) => failures),
        [2, 1, 0]
      )
      assert.equal((await stage.rows("select from posthorn.attempts")).length, 1)
      const own = await version(one)
      const again = await stage.record([
        stage.observation(first, { policyVersion: own }),
        // A successful delivery needs no policy.
        stage.observation(second, { status: "delivered" })
      ])
      assert.deepEqual([again.recorded, again.changed], [2, []])
      await stage.rows(`update posthorn.workspaces set policy = '{"jitter": 0.5}' where id = $1`, acme)
      assert.notEqual(await version(one), own)
      assert.deepEqual((await stage.record([stage.observation(third, { policyVersion: own })])).changed, [
        one
      ])
      await stage.rows("update posthorn.workspaces set policy = null, used_up = null where id = $1", acme)
      assert.deepEqual((await stage.record([stage.observation(third, { policyVersion: own })])).changed, [])
    }
  },
  {
    title: "an attempt that never reached its endpoint leaves the streak as it is, and disables nothing",
    of: RECORD,
    play: async (stage) => {
      const { deliveries, endpoint } = await scene(stage, 5, FAILURE_LIMIT - 2)
      const [first, second, third, fourth, fifth] = deliveries as [
        Delivery,
        Delivery,
        Delivery,
        Delivery,
        Delivery
      ]
      const gone = { disables: { kind: "gone" } } as const
      await stage.record([
        stage.observation(first, { failureReason: "proxy_failed", ...gone }),
        stage.observation(second, { failureReason: "auth_failed", ...gone }),
        stage.observation(third)
      ])
      const standing = (failures: number) => [{ id: endpoint, failures, enabled: true, reason: null }]
      assert.deepEqual(await stage.rows(FAILURES), standing(FAILURE_LIMIT - 1))
      await stage.record([stage.observation(fourth, { failureReason: "proxy_failed" })])
      assert.deepEqual(await stage.rows(FAILURES), standing(FAILURE_LIMIT - 1))
      await stage.record([stage.observation(fifth, { status: "delivered" })])
      assert.deepEqual(await stage.rows(FAILURES), standing(0))
      assert.equal((await stage.rows("select from posthorn.attempts")).length, 5)
    }
  },
  {
    title:
      "a policy can disable an endpoint at once, after its own count, after a period with at least five failures, or never",
    of: [...RECORD, "endpoint_stopped"],
    play: async (stage) => {
      const acme = await stage.workspace()
      const standing = async (title: string, failures: number, since: string | null) => {
        const id = await stage.endpoint(acme, { failures, types: [title] })
        await stage.rows(
          `update posthorn.endpoints set failing_since = now() - $2::interval where id = $1`,
          id,
          since
        )
        await stage.deliveries(acme, "acme", 1, title)
        return id
      }
      const hour = { kind: "failing_for", seconds: 3_600 } as const
      const cases = [
        { streak: 0, since: null, disables: { kind: "gone" }, reason: "gone" },
        {
          streak: 1,
          since: "1 minute",
          disables: { kind: "failures", count: 2 },
          reason: "consecutive_failures"
        },
        { streak: 1, since: "1 minute", disables: { kind: "failures", count: 3 }, reason: null },
        { streak: 4, since: "61 minutes", disables: hour, reason: "failing_for" },
        { streak: 4, since: "59 minutes", disables: hour, reason: null },
        { streak: 3, since: "2 days", disables: hour, reason: null },
        { streak: 90, since: null, disables: hour, reason: null },
        { streak: 90, since: "90 days", disables: { kind: "never" }, reason: null }
      ] as const
      const ids: Array<string> = []
      for (const [n, { since, streak }] of cases.entries()) ids.push(await standing(`t${n}`, streak, since))
      const all = await stage.deliveries(acme, "acme", 0)
      const answer = await stage.record(
        all.map((delivery) =>
          stage.observation(delivery, { disables: cases[ids.indexOf(delivery.endpoint)]!.disables })
        )
      )
      const reasons = await stage.rows(
        "select disabled_reason as reason, consecutive_failures as failures from posthorn.endpoints order by id"
      )
      assert.deepEqual(
        reasons,
        cases.map(({ reason, streak }) => ({ reason, failures: streak + 1 }))
      )
      const stopped = cases.flatMap(({ reason }, n) => (reason === null ? [] : [{ id: ids[n], reason }]))
      const pairs = (answer.disabled as ReadonlyArray<string>).map((id, n) => ({
        id,
        reason: (answer.disabled_reasons as ReadonlyArray<string>)[n]
      }))
      assert.deepEqual(
        pairs.sort((a, b) => (a.id < b.id ? -1 : 1)),
        stopped
      )
      const told = (await stage.rows("select message from posthorn.notifications order by endpoint_id")).map(
        ({ message }) => /disabled (.*?)\. Lost/.exec(message as string)![1]
      )
      assert.equal(told[0], "because its receiver answered 410 Gone")
      assert.equal(told[1], "after 2 failures in a row")
      assert.match(told[2]!, /^after 5 failures in a row since \d{4}-/)
      assert.deepEqual(
        await stage.rows(
          `select e.payload::json ->> 'endpointId' as id, e.payload::json ->> 'reason' as reason from posthorn.events e
            where e.event_type = 'webhook.endpoint_disabled' order by 1`
        ),
        stopped
      )
    }
  },
  {
    title:
      "the notification names the failure that broke the rule, not one before or after it in the same call",
    of: [...RECORD, "endpoint_stopped"],
    play: async (stage) => {
      const { deliveries } = await scene(stage, 4)
      const disables = { kind: "failures", count: 3 } as const
      await stage.record(deliveries.map((one) => stage.observation(one, { disables })))
      assert.deepEqual(
        await stage.rows(
          "select delivery_id, message like '%after 3 failures%' as three from posthorn.notifications"
        ),
        [{ delivery_id: deliveries[2]!.id, three: true }]
      )
    }
  },
  {
    title: "when a streak began is kept with it, and goes with it",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 5)
      const since = () => stage.value("select failing_since from posthorn.endpoints")
      const failed = (n: number) => stage.observation(deliveries[n]!)
      await stage.record([failed(0)])
      const began = await since()
      assert.notEqual(began, null)
      await stage.record([failed(1)])
      assert.deepEqual(await since(), began)
      await stage.record([stage.observation(deliveries[2]!, { status: "delivered" })])
      assert.equal(await since(), null)
      await stage.rows("update posthorn.endpoints set failing_since = '2020-01-01', consecutive_failures = 4")
      await stage.record([stage.observation(deliveries[3]!, { status: "delivered" }), failed(4)])
      assert.ok(((await since()) as Date) > new Date("2026-01-01"))
    }
  },
  {
    title: "a success after the twentieth failure of the same group does not undo the disabling",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 2, 19)
      const [bad, good] = deliveries
      await stage.record([stage.observation(bad!), stage.observation(good!, { status: "delivered" })])
      assert.deepEqual(await stage.value("select enabled from posthorn.endpoints"), false)
    }
  },
  {
    title:
      "a healthy endpoint that stays healthy is neither locked nor written, nor is one without observations",
    of: RECORD,
    play: async (stage) => {
      const acme = await stage.workspace()
      const healthy = await stage.endpoint(acme, { types: ["a"] })
      const failing = await stage.endpoint(acme, { types: ["b"] })
      const idle = await stage.endpoint(acme, { types: ["c"], failures: 1 })
      const version = () =>
        stage.rows("select id, xmin::text from posthorn.endpoints where id = any ($1) order by id", [
          healthy,
          idle
        ])
      const before = await version()
      await stage.deliveries(acme, "acme", 1, "a")
      const all = await stage.deliveries(acme, "acme", 1, "b")
      const other = await stage.other()
      await other.rows("begin")
      await other.rows("select from posthorn.endpoints where id = any ($1) for update", [healthy, idle])
      const group = all.map((one) =>
        stage.observation(one, { status: one.endpoint === failing ? "failed" : "delivered" })
      )
      assert.equal((await stage.record(group)).recorded, 2)
      assert.deepEqual(await version(), before)
    }
  },
  {
    title: "two workers that record failures of one endpoint count both",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 2)
      const other = await stage.other()
      await other.rows("begin")
      await stage.record([stage.observation(deliveries[0]!)], other)
      const second = stage.record([stage.observation(deliveries[1]!)])
      await stage.waits(other)
      await other.rows("commit")
      await second
      assert.equal((await stage.rows(FAILURES))[0]!.failures, 2)
    }
  },
  {
    title: "what somebody holds for long is not waited for: the call gives up with 55P03, to be made again",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 1)
      const other = await stage.other()
      await other.rows("begin")
      await other.rows("select from posthorn.endpoints for update")
      await stage.rows("set statement_timeout = '8s'")
      const code = await stage.recordCode([stage.observation(deliveries[0]!)])
      await stage.rows("reset statement_timeout")
      assert.equal(code, "55P03")
    }
  },
  {
    title: "a locked endpoint that subscribes to disabled ones is waited for only a moment",
    of: ["count_failures"],
    play: async (stage) => {
      const { acme, deliveries } = await scene(stage, 1, 19)
      const hears = await stage.endpoint(acme, { types: ["webhook.endpoint_disabled"] })
      const other = await stage.other()
      await other.rows("begin")
      await other.rows("select from posthorn.endpoints where id = $1 for update", hears)
      // Shorter than the waits for anything else. A machine that stalls may exceed it, so the call is repeated.
      await stage.rows("set statement_timeout = '400ms'")
      await stage.until("it gives up", async () => {
        return (await stage.recordCode([stage.observation(deliveries[0]!)])) === "55P03"
      })
      await stage.rows("reset statement_timeout")
    }
  },
  {
    title: "of a disabled endpoint hears whoever wants to and does not fail, and nobody else has missed it",
    of: ["announce"],
    play: async (stage) => {
      const { acme, deliveries, endpoint } = await scene(stage, 1, 19)
      await stage.endpoint(acme, { failures: 1 })
      await stage.endpoint(acme, { failures: 1, enabled: false })
      const [hears, off] = [await stage.endpoint(acme), await stage.endpoint(acme, { enabled: false })]
      await stage.record([stage.observation(deliveries[0]!)])
      assert.deepEqual(
        await stage.rows(
          "select endpoint_id as id from posthorn.deliveries where endpoint_id <> $1",
          endpoint
        ),
        [{ id: hears }]
      )
      assert.deepEqual(await stage.rows("select endpoint_id as id from posthorn.missed_events"), [
        { id: off }
      ])
      // Failing endpoints receive other events of Posthorn.
      await stage.publish("acme")
      assert.equal(
        await stage.value("select count(*)::integer from posthorn.deliveries where event_type = 'a.b'"),
        3
      )
    }
  },
  {
    title: "a row that somebody changes meanwhile undoes the whole call, which can then be made again",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 2)
      const [contested, own] = deliveries
      const other = await stage.other()
      await other.rows("begin")
      await stage.record([stage.observation(contested!, { status: "delivered" })], other)
      const both = [contested!, own!].map((one) => stage.observation(one, { status: "delivered" }))
      const recording = stage.recordCode(both)
      await stage.waits(other)
      await other.rows("commit")
      assert.equal(await recording, "40001")
      assert.equal((await stage.rows("select from posthorn.attempts")).length, 1)
      assert.equal((await stage.record(both)).recorded, 1)
    }
  },
  {
    title: "one delivery twice in a call is a mistake, and says so",
    of: RECORD,
    play: async (stage) => {
      const { deliveries } = await scene(stage, 1)
      const twice = [stage.observation(deliveries[0]!), stage.observation(deliveries[0]!)]
      assert.equal(await stage.recordCode(twice), "21000")
    }
  },
  {
    title: "after a refusal all others are recorded, in their order, and those that are refused are named",
    of: ["record_each"],
    play: async (stage) => {
      const { deliveries } = await scene(stage, 4, FAILURE_LIMIT - 2)
      const failing = deliveries.map((one) => stage.observation(one, { requestHeaders: "{}" }))
      const tooLong = { ...failing[1]!, responseBody: "a".repeat(2_049) }
      // Arrival is not the order of ids.
      const observed = [failing[3]!, tooLong, failing[0]!, { ...failing[2]!, ordinal: 2 }]
      assert.equal(await stage.recordCode(observed), "23514")
      const answer = await stage.recordEach(observed)
      assert.deepEqual([answer.recorded, answer.refused, answer.too_late], [2, [1], [3]])
      assert.match(String(answer.refusals), /kept_body/)
      assert.deepEqual(answer.disabled_reasons, ["consecutive_failures"])
      assert.deepEqual(
        (await stage.rows("select id, attempts from posthorn.deliveries order by id")).map(
          (row) => row.attempts
        ),
        [1, 0, 0, 1]
      )
    }
  },
  {
    title: "one by one a lock still ends the whole call",
    of: ["record_each"],
    play: async (stage) => {
      const { deliveries, endpoint } = await scene(stage, 2)
      const other = await stage.other()
      await other.rows("begin")
      await other.rows("select from posthorn.endpoints where id = $1 for update", endpoint)
      const observed = deliveries.map((one) => stage.observation(one))
      await assert.rejects(stage.recordEach(observed), { code: "55P03" })
    }
  }
]
