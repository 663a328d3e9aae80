/** Operational events: one for each change, in the system workspace, and none for what is no change. */
import assert from "node:assert/strict"
import type { Disables } from "@posthorn/domain/Verdict"
import { failing, start } from "./ReplayStage.ts"
import { type Delivery, type Stage, TRACE, writeScenarios } from "./Stage.ts"

const named = (stage: Stage, slug: string | null) =>
  stage.rows("update posthorn.installation set system_workspace = $1", slug)

const platform = async (stage: Stage) => {
  const id = await stage.workspace("platform")
  await named(stage, "platform")
  return id
}

interface Told {
  readonly type: string
  readonly trace: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** In the order of their ids. */
const told = async (stage: Stage): Promise<ReadonlyArray<Told>> =>
  (await stage.rows(
    `select e.event_type as type, e.trace_id as trace, e.payload::json as payload from posthorn.events e
      join posthorn.workspaces w on w.id = e.workspace_id where w.slug = 'platform' order by e.id`
  )) as ReadonlyArray<never>

const types = async (stage: Stage) => (await told(stage)).map(({ type }) => type)

/** The same draws on each run. */
const drawing = (seed: number) => {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
}

/** What is told of one endpoint, by the rules of the specification. */
class Model {
  readonly told: Array<string> = []
  enabled = true
  streak = 0
  private from: "failing" | "enabling" | null = null
  readonly limit: number | null

  constructor(limit: number | null) {
    this.limit = limit
  }

  private tell(type: string): void {
    this.told.push(`endpoint.${type}`)
  }

  saw(delivered: boolean): void {
    this.streak = delivered ? 0 : this.streak + 1
    if (!this.enabled) return
    if (delivered) {
      if (this.from !== null) this.tell("recovered")
      this.from = null
    } else if (this.limit !== null && this.streak >= this.limit) {
      this.tell("disabled")
      this.enabled = false
    } else if (this.streak >= (this.limit === null ? 10 : this.limit / 2) && this.from !== "failing") {
      this.tell("failing")
      this.from = "failing"
    }
  }

  enable(): void {
    this.enabled = true
    this.streak = 0
    this.from = "enabling"
  }
}

const ENABLE = `update posthorn.endpoints set enabled = true, disabled_reason = null, consecutive_failures = 0, failing_since = null,
  generation = generation + 1, recovers_from = 'enabling' where id = $1 returning generation`

const NEVER: Disables = { kind: "never" }

/** Records random outcomes of endpoints in random batches, and compares what is told of each with its model. */
const compare = async (stage: Stage, limits: ReadonlyArray<number | null>, seed: number) => {
  const draw = drawing(seed)
  const acme = await stage.workspace()
  const models = new Map<string, Model>()
  for (const limit of limits) models.set(await stage.endpoint(acme), new Model(limit))
  const deliveries = [...(await stage.deliveries(acme, "acme", 120))]
  const generations = new Map<string, number>()
  while (deliveries.length > 0) {
    const observed = deliveries.splice(0, 1 + draw(60)).map((one) => {
      const model = models.get(one.endpoint)!
      // Runs of failures, about as long as the limit.
      const delivered = draw(model.limit ?? 12) === 0
      model.saw(delivered)
      return stage.observation(one, {
        generation: generations.get(one.endpoint) ?? 0,
        disables: model.limit === null ? NEVER : { kind: "failures", count: model.limit },
        status: delivered ? "delivered" : "failed"
      })
    })
    await stage.record(observed)
    for (const [endpoint, model] of models) {
      if (draw(3) > 0) continue
      generations.set(endpoint, Number(await stage.value(ENABLE, endpoint)))
      model.enable()
    }
  }
  const found = await told(stage)
  for (const [endpoint, model] of models) {
    assert.deepEqual(
      found.filter(({ payload }) => payload.endpointId === endpoint).map(({ type }) => type),
      model.told
    )
    assert.ok(model.told.length > 3)
  }
}

const holding = async (stage: Stage, statement: string, ...values: ReadonlyArray<unknown>) => {
  const other = await stage.other()
  await other.rows("begin")
  await other.rows(statement, ...values)
  return other
}

const fails = (stage: Stage, [one]: ReadonlyArray<Delivery>) =>
  stage.recordCode([stage.observation(one!, { disables: { kind: "failures", count: 1 } })])

export const operations = writeScenarios((it) => {
  it("count_failures, write_attempts, happened: failing once a streak, disabled, recovered, whatever is recorded together", async (stage) => {
    await platform(stage)
    await compare(stage, [20, 7, 2, null], 1)
  })

  it("count_failures: under a limit of time an endpoint is failing after half of it, with half of the failures", async (stage) => {
    await platform(stage)
    const acme = await stage.workspace()
    await stage.endpoint(acme)
    const deliveries = await stage.deliveries(acme, "acme", 5)
    const failed = (n: number) =>
      stage.record([stage.observation(deliveries[n]!, { disables: { kind: "failing_for", seconds: 7_200 } })])
    const began = (text: string) =>
      stage.rows("update posthorn.endpoints set failing_since = now() - $1::interval", text)
    await failed(0)
    await began("61 minutes")
    await failed(1)
    await began("59 minutes")
    await failed(2)
    assert.deepEqual(await types(stage), [])
    await began("61 minutes")
    await failed(3)
    await failed(4)
    const [only, ...others] = await told(stage)
    assert.deepEqual([only!.type, only!.payload.consecutiveFailures, others], ["endpoint.failing", 4, []])
    assert.match(String(only!.payload.failingSince), /^\d{4}-.*\.\d{3}Z$/)
  })

  it("count_failures, blocked_endpoints: a success that is no recovery locks nothing, one that is one waits for its endpoint", async (stage) => {
    await platform(stage)
    const acme = await stage.workspace()
    const endpoint = await stage.endpoint(acme)
    const [first, second] = await stage.deliveries(acme, "acme", 2)
    const good = (one: Delivery | undefined) => stage.observation(one!, { status: "delivered" })
    await stage.rows("update posthorn.endpoints set recovers_from = 'enabling'")
    const other = await holding(stage, "select from posthorn.endpoints where id = $1 for update", endpoint)
    assert.equal(await stage.recordCode([good(first)]), "55P03")
    assert.deepEqual(
      await stage.rows(
        "select * from posthorn.blocked_endpoints($1, $2, $3, '{delivered}')",
        [acme],
        [first!.id],
        [endpoint]
      ),
      [{ blocked_endpoints: endpoint }]
    )
    await other.rows("rollback")
    await stage.record([good(first)])
    await stage.record([good(second)])
    assert.deepEqual(
      (await told(stage)).map(({ payload, type }) => [type, payload]),
      [
        [
          "endpoint.recovered",
          { workspace: { id: acme, slug: "acme" }, endpointId: endpoint, deliveryId: first!.id }
        ]
      ]
    )
  })

  it("happened, dead_letter: says which workspace and which ids, with the trace of the change, and nothing of the payload", async (stage) => {
    await platform(stage)
    const acme = await stage.workspace()
    const endpoint = await stage.endpoint(acme)
    const one = await stage.publish("acme", "a.b", null, '{"secret":"hush"}')
    const [delivery] = one.delivery_ids as ReadonlyArray<string>
    await stage.rows(
      "insert into posthorn.dead_letters (workspace_id, delivery_id) values ($1, $2)",
      acme,
      delivery
    )
    await stage.rows("select posthorn.dead_letter(10)")
    const trace = await stage.value("select trace_id from posthorn.deliveries where id = $1", delivery)
    assert.deepEqual(await told(stage), [
      {
        type: "delivery.dead_lettered",
        trace,
        payload: {
          workspace: { id: acme, slug: "acme" },
          endpointId: endpoint,
          deliveryId: delivery,
          eventId: one.id,
          eventType: "a.b",
          reason: "retries_spent"
        }
      }
    ])
  })

  it("happened: those who want it get it, whose filter lets it through; who is disabled has missed it; workers that sleep are notified", async (stage) => {
    const system = await platform(stage)
    const all = await stage.endpoint(system, { types: ["delivery.*"] })
    const off = await stage.endpoint(system, { enabled: false })
    await stage.endpoint(system, { types: ["endpoint.*"] })
    const filtered = await stage.endpoint(system)
    const program = { path: '$.eventType == "a.b"', weight: 1 }
    await stage.rows(
      `update posthorn.endpoints set filter = '{}', filter_program = $2::jsonb, filter_path = posthorn.path_of($2::jsonb, 0), filter_weight = 1
        where id = $1`,
      filtered,
      JSON.stringify(program)
    )
    const acme = await stage.workspace()
    await stage.endpoint(acme)
    const deliveries = [
      ...(await stage.deliveries(acme, "acme", 1, "a.b")),
      ...(await stage.deliveries(acme, "acme", 1, "c")).slice(1)
    ]
    const worker = await stage.other()
    await worker.rows("select pg_advisory_lock(posthorn.sleep_lock_class(), n) from generate_series(0, 31) n")
    const heard: Array<string> = []
    await worker.rows("listen posthorn_due")
    worker.client.on("notification", ({ payload }) => heard.push(payload ?? ""))
    for (const { id } of deliveries)
      await stage.rows(
        "insert into posthorn.dead_letters (workspace_id, delivery_id) values ($1, $2)",
        acme,
        id
      )
    await stage.rows("select posthorn.dead_letter(10)")
    const got = await stage.rows(
      `select d.endpoint_id as id, count(*)::integer as n, bool_and(e.deliveries = 1 + (e.payload like '%a.b%')::integer) as counted,
          bool_and(q.due_at <= now() and d.id >= posthorn.deliveries_begin(d.event_id)) as due
        from posthorn.deliveries d join posthorn.events e on e.id = d.event_id join posthorn.queue q on q.delivery_id = d.id
        where d.workspace_id = $1 group by 1 order by 2 desc`,
      system
    )
    assert.deepEqual(got, [
      { id: all, n: 2, counted: true, due: true },
      { id: filtered, n: 1, counted: true, due: true }
    ])
    assert.deepEqual(
      await stage.rows(
        "select endpoint_id as id, count(*)::integer as n from posthorn.missed_events group by 1"
      ),
      [{ id: off, n: 2 }]
    )
    await worker.rows("select 1")
    assert.equal(heard.length, 1)
  })

  it("happened, system_workspace: none of the system workspace itself, none where it is not named or does not exist, one when its quota is used up", async (stage) => {
    const system = await stage.workspace("platform")
    await stage.endpoint(system)
    const acme = await stage.workspace()
    await stage.endpoint(acme)
    const own = await stage.deliveries(system, "platform", 1)
    const die = async (all: ReadonlyArray<Delivery>) => {
      for (const { id, workspace } of all)
        await stage.rows(
          "insert into posthorn.dead_letters (workspace_id, delivery_id) values ($1, $2)",
          workspace,
          id
        )
      assert.equal(await stage.value("select marked from posthorn.dead_letter(10)"), all.length)
    }
    const [first, second, third] = await stage.deliveries(acme, "acme", 3)
    await die([first!])
    await named(stage, "nobody")
    await die([second!])
    await named(stage, "platform")
    await stage.rows("update posthorn.workspaces set used_up = 'bytes'")
    const before = (await told(stage)).length
    await die([...own, third!])
    assert.deepEqual(
      (await told(stage)).slice(before).map(({ payload, type }) => [type, payload.deliveryId]),
      [["delivery.dead_lettered", third!.id]]
    )
  })

  it("tell_of_change, trigger endpoints_told: what an audit event says of an endpoint is told; no other audit event is", async (stage) => {
    await platform(stage)
    const acme = await stage.workspace()
    const audit = (action: string, changes: unknown) =>
      stage.rows(
        `insert into posthorn.audit_events (workspace_id, action, actor_type, actor_id, via, target_type, target_id, changes, trace_id)
          values ($1, $2, 'operator', 'operator', 'rest', 'webhook_endpoint', 'whe_1', $3, $4)`,
        acme,
        action,
        JSON.stringify(changes),
        TRACE
      )
    await audit("webhook.endpoint_created", { fields: ["url"], to: { url: "https://hush.example" } })
    await audit("webhook.endpoint_updated", { fields: ["url"], to: { url: "https://hush.example" } })
    await audit("webhook.endpoint_updated", { fields: ["enabled"], to: { enabled: false } })
    await audit("webhook.endpoint_updated", { fields: ["enabled"], to: { enabled: true } })
    await audit("webhook.secret_rotated", { fields: ["signingSecret"] })
    await audit("webhook.endpoint_deleted", { fields: [], from: { url: "https://hush.example" } })
    await audit("webhook.endpoint_auto_disabled", { fields: ["enabled"] })
    await audit("webhook.replay_started", { fields: [] })
    const about = { workspace: { id: acme, slug: "acme" }, endpointId: "whe_1" }
    assert.deepEqual(
      (await told(stage)).map(({ payload, trace, type }) => [type, payload, trace]),
      [
        ["endpoint.created", about, TRACE],
        ["endpoint.updated", { ...about, fields: ["url"] }, TRACE],
        ["endpoint.updated", { ...about, fields: ["enabled"] }, TRACE],
        ["endpoint.disabled", { ...about, reason: "manual" }, TRACE],
        ["endpoint.updated", { ...about, fields: ["enabled"] }, TRACE],
        ["endpoint.updated", { ...about, fields: ["signingSecret"] }, TRACE],
        ["endpoint.deleted", about, TRACE]
      ]
    )
  })

  it("tell_of_replay, trigger replays_told: a job's end is told once, done or cancelled; its steps are not", async (stage) => {
    await platform(stage)
    const { acme, endpoint } = await failing(stage, 3)
    const job = await start(stage, { workspace: acme, endpoint, matched: 3 })
    const step = () => stage.value("select outcome from posthorn.replay_step($1, $2, 2, 100)", acme, job)
    const touch = () => stage.rows("update posthorn.replays set state = state")
    assert.equal(await step(), "stepped")
    await touch()
    assert.deepEqual(await types(stage), [])
    await stage.until("it is done", async () => (await step()) === "finished")
    await touch()
    const cancelled = await start(stage, { workspace: acme, endpoint, matched: 0 })
    for (const _ of [1, 2])
      await stage.rows(
        "update posthorn.replays set state = 'cancelled', finished_at = now() where id = $1 and state = 'running'",
        cancelled
      )
    assert.deepEqual(
      (await told(stage)).map(({ payload, type }) => [
        type,
        payload.replayId,
        payload.state,
        payload.replayed
      ]),
      [
        ["replay.finished", job, "done", 3],
        ["replay.finished", cancelled, "cancelled", 0]
      ]
    )
  })

  it("add_deviations: the first of a workspace and type in each hour is told, once", async (stage) => {
    await platform(stage)
    await named(stage, null)
    const [acme, other] = [await stage.workspace(), await stage.workspace("other")]
    const at = (time: string) =>
      stage.value("select posthorn.id_of('evt_', posthorn.micros($1))", time) as Promise<string>
    const [first, second, later, nextDay] = [
      await at("2026-01-01T10:00:00Z"),
      await at("2026-01-01T10:59:59Z"),
      await at("2026-01-01T23:00:00Z"),
      await at("2026-01-02T10:00:00Z")
    ]
    const add = (...all: ReadonlyArray<readonly [string, string, string]>) =>
      stage.rows(
        "select posthorn.add_deviations($1, $2, $3)",
        all.map(([workspace]) => workspace),
        all.map(([, type]) => type),
        all.map(([, , event]) => event)
      )
    // Nobody was told of these, and each has a row from now on.
    await add([acme, "a", first], [acme, "b", later], [acme, "b", nextDay])
    await named(stage, "platform")
    await add([acme, "a", second], [acme, "a", first])
    await add([acme, "a", second])
    await add([acme, "b", first])
    await add([acme, "b", second])
    await add([acme, "a", second], [other, "a", second], [acme, "a", later])
    await add([acme, "a", nextDay], [acme, "b", nextDay])
    await add([acme, "a", second], [acme, "b", second])
    assert.deepEqual(
      (await told(stage)).map(({ payload, type }) => [
        type,
        (payload.workspace as { slug: string }).slug,
        payload.eventType,
        payload.eventId
      ]),
      [
        ["payload.deviated", "acme", "a", first],
        ["payload.deviated", "acme", "b", first],
        ["payload.deviated", "other", "a", second],
        ["payload.deviated", "acme", "a", later],
        ["payload.deviated", "acme", "a", nextDay],
        ["payload.deviated", "acme", "b", nextDay]
      ]
    )
  })

  it("remove_workspace: each endpoint that goes with it is told as deleted; who makes or deletes one meanwhile is waited for", async (stage) => {
    await platform(stage)
    const acme = await stage.workspace()
    const held = await stage.workspace("held")
    const [one, two] = [await stage.endpoint(acme), await stage.endpoint(acme)]
    await stage.endpoint(held)
    const elsewhere = await holding(stage, "select from posthorn.workspaces where id = $1 for update", held)
    const other = await holding(
      stage,
      "select from posthorn.workspaces where id = $1 for no key update",
      acme
    )
    await other.rows(
      `insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret)
        values ($1, 'whe_new', 'https://example.com', '{a}', true, 'secret')`,
      acme
    )
    const third = await holding(stage, "select posthorn.remove_endpoint($1, $2, 10)", acme, one)
    await stage.rows("set statement_timeout = '8s'")
    const removing = stage.rows("select slug from posthorn.remove_workspace($1, $2)", acme, TRACE)
    await stage.waits(other)
    await other.rows("commit")
    await stage.waits(third)
    await third.rows("commit")
    assert.deepEqual(await removing, [{ slug: "acme" }])
    await stage.rows("reset statement_timeout")
    await elsewhere.rows("rollback")
    assert.deepEqual(
      (await told(stage)).map(({ payload, trace, type }) => [type, payload.endpointId, trace]),
      [two, "whe_new"].map((id) => ["endpoint.deleted", id, TRACE])
    )
  })

  it("happened: while the system workspace or an endpoint of it is being deleted a record waits only a moment; a deletion waits for it", async (stage) => {
    const system = await platform(stage)
    const hears = await stage.endpoint(system)
    const acme = await stage.workspace()
    await stage.endpoint(acme)
    const deliveries = await stage.deliveries(acme, "acme", 1)
    await stage.rows("set statement_timeout = '8s'")
    for (const [table, id] of [
      ["endpoints", hears],
      ["workspaces", system]
    ] as const) {
      const other = await holding(stage, `select from posthorn.${table} where id = $1 for update`, id)
      assert.equal(await fails(stage, deliveries), "55P03")
      await other.rows("rollback")
    }
    await stage.rows("delete from posthorn.endpoints where id = $1", hears)
    await stage.rows("begin")
    assert.equal(await fails(stage, deliveries), null)
    const other = await stage.other()
    await other.rows("set lock_timeout = '50ms'")
    assert.equal(await other.code("delete from posthorn.workspaces where id = $1", system), "55P03")
    await stage.rows("commit")
    await stage.rows("reset statement_timeout")
    assert.deepEqual(await types(stage), ["endpoint.disabled"])
  })

  it("happened: a system workspace that is deleted meanwhile gets nothing, and other workspaces are not waited for", async (stage) => {
    const system = await platform(stage)
    const acme = await stage.workspace()
    const held = await stage.workspace("held")
    const elsewhere = await holding(stage, "select from posthorn.workspaces where id = $1 for update", held)
    const other = await holding(stage, "delete from posthorn.workspaces where id = $1", system)
    await stage.rows("begin")
    await stage.rows("set local statement_timeout = '8s'")
    const dying = stage.rows(
      "select posthorn.happened(array[row($1, 'endpoint.created', '{}', null)::posthorn.happening])",
      acme
    )
    await stage.waits(other)
    await other.rows("commit")
    await dying
    await stage.rows("commit")
    await elsewhere.rows("rollback")
    assert.deepEqual(await stage.rows("select from posthorn.events where workspace_id = $1", system), [])
  })

  it("refusal_in, is_operational, plan, publish_one: in the system workspace their types are reserved, elsewhere they are not", async (stage) => {
    const system = await platform(stage)
    const acme = await stage.workspace()
    await stage.endpoint(system)
    const code = (slug: string, type: string) =>
      stage.code("select posthorn.publish($1, $2, '1')", slug, type)
    const reserved = (await stage.rows(
      "select posthorn.is_operational(t) as is, t from unnest($1::text[]) t",
      ["endpoint.created", "endpoint.other", "payload.deviated"]
    )) as ReadonlyArray<{ is: boolean; t: string }>
    for (const { is, t } of reserved) {
      assert.equal(await code("platform", t), is ? "PH400" : null)
      assert.equal(await code("acme", t), null)
    }
    const batch = await stage.rows(
      `select index, code, hint from posthorn.publish_each($1, $2, array['1', '1', '1']::json[], array[null, null, null]::text[],
        array[null, null, null]::text[], 10, array_fill('system sql x'::text, array[3]))`,
      [system, acme, system],
      ["replay.finished", "replay.finished", "a"]
    )
    assert.deepEqual(batch, [
      { index: 1, code: "PH400", hint: "/eventType" },
      { index: 2, code: null, hint: null },
      { index: 3, code: null, hint: null }
    ])
    assert.deepEqual(await types(stage), ["endpoint.other", "a"])
  })
})
