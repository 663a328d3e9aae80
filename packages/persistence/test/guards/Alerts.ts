/** Notes that become alerts: what is told at once, what in the digest, by which worker, and what is removed. */
import assert from "node:assert/strict"
import { type Row, type Session, type Stage, writeScenarios } from "./Stage.ts"

const FAILING = "endpoint.failing"
const DEAD = "delivery.dead_lettered"

const EMAIL = { kind: "email", to: "oncall@example.com", on: [FAILING, DEAD] }
const SLACK = { kind: "slack", fingerprint: "0123456789abcdef", on: [FAILING] }

const alerting = async (stage: Stage, slug: string, alerts: ReadonlyArray<object> = [EMAIL]) => {
  const workspace = await stage.workspace(slug)
  await stage.rows(
    "update posthorn.workspaces set alerts = $2::jsonb where id = $1",
    workspace,
    JSON.stringify(alerts)
  )
  return workspace
}

const note = (stage: Stage, workspace: string, cause: string, ...endpoints: ReadonlyArray<string>) =>
  stage.rows(
    `select posthorn.note_alerts(array(
      select row($1, $2, jsonb_build_object('endpointId', e), null)::posthorn.happening from unnest($3::text[]) as e))`,
    workspace,
    cause,
    endpoints
  )

const fold = (by: Session, workspace: string, most = 100) =>
  by.value("select posthorn.fold_alerts($1, $2)", workspace, most)

const close = (by: Session, most = 10) => by.value("select posthorn.close_alert_hours($1)", most)

const anHourLater = (stage: Stage) =>
  stage.rows("update posthorn.alert_hours set began_at = began_at - interval '1 hour'")

const told = async (stage: Stage, workspace: string) =>
  (
    await stage.rows(
      "select cause, kind, recipient, endpoint_id, digest from posthorn.alerts where workspace_id = $1 order by id",
      workspace
    )
  ).map(({ digest, endpoint_id }) => (digest === null ? endpoint_id : [endpoint_id, digest]))

const endpointsUpTo = (count: number) =>
  Array.from({ length: count }, (_, n) => `whe_${String(n).padStart(2, "0")}`)

export const alerts = writeScenarios((it) => {
  it("note_alerts: only for the workspace and the causes that it names", async (stage) => {
    const acme = await alerting(stage, "acme", [{ ...EMAIL, on: [FAILING] }])
    const other = await alerting(stage, "other", [])
    await note(stage, acme, FAILING, "whe_1")
    await note(stage, acme, DEAD, "whe_1")
    await note(stage, other, FAILING, "whe_1")
    assert.deepEqual(await stage.rows("select workspace_id, cause, endpoint_id from posthorn.alert_notes"), [
      { workspace_id: acme, cause: FAILING, endpoint_id: "whe_1" }
    ])
  })

  it("make_alerts, fold_alerts: one alert for each recipient of the cause, and for no other workspace's", async (stage) => {
    const acme = await alerting(stage, "acme", [EMAIL, SLACK])
    const other = await alerting(stage, "other")
    await note(stage, acme, FAILING, "whe_1")
    await note(stage, acme, DEAD, "whe_2")
    await note(stage, other, FAILING, "whe_3")
    assert.equal(await fold(stage, acme), 2)
    assert.deepEqual(
      await stage.rows("select cause, kind, recipient, endpoint_id from posthorn.alerts order by id"),
      [
        { cause: FAILING, kind: "email", recipient: EMAIL.to, endpoint_id: "whe_1" },
        { cause: FAILING, kind: "slack", recipient: SLACK.fingerprint, endpoint_id: "whe_1" },
        { cause: DEAD, kind: "email", recipient: EMAIL.to, endpoint_id: "whe_2" }
      ]
    )
    assert.equal(await fold(stage, acme), 0)
    assert.equal(await fold(stage, other), 1)
  })

  it("fold_alerts, close_alert_hours: of an hour's dead letters the first is told at once, the others in one digest at its end, whatever was folded when", async (stage) => {
    const acme = await alerting(stage, "acme")
    const other = await alerting(stage, "other")
    await note(stage, other, DEAD, "whe_1", "whe_1")
    await note(stage, acme, DEAD, "whe_1", "whe_2", "whe_1")
    await note(stage, acme, FAILING, "whe_1", "whe_1")
    assert.equal(await fold(stage, acme, 2), 2)
    assert.equal(await fold(stage, acme), 3)
    assert.deepEqual(await told(stage, acme), ["whe_1", "whe_1"])
    await note(stage, acme, DEAD, "whe_2", "whe_2")
    await fold(stage, acme)
    await fold(stage, other)
    assert.equal(await close(stage), 0)
    await anHourLater(stage)
    assert.equal(await close(stage), 3)
    assert.deepEqual((await told(stage, acme)).slice(2), [
      [
        null,
        {
          times: 4,
          endpoints: 2,
          most: [
            { endpointId: "whe_2", times: 3 },
            { endpointId: "whe_1", times: 1 }
          ]
        }
      ],
      ["whe_1", { times: 1, endpoints: 1, most: [{ endpointId: "whe_1", times: 1 }] }]
    ])
    assert.deepEqual(await told(stage, other), [
      "whe_1",
      ["whe_1", { times: 1, endpoints: 1, most: [{ endpointId: "whe_1", times: 1 }] }]
    ])
    await note(stage, acme, DEAD, "whe_2")
    await fold(stage, acme)
    assert.equal((await told(stage, acme)).at(-1), "whe_2")
    await anHourLater(stage)
    assert.equal(await close(stage), 1)
    assert.equal((await told(stage, acme)).length, 5)
  })

  it("fold_alerts, close_alert_hours: an endpoint is told once an hour, and ten of a cause; the digest names the ten that it happened to most often", async (stage) => {
    const acme = await alerting(stage, "acme")
    const other = await alerting(stage, "other")
    await note(stage, other, FAILING, "whe_0")
    await fold(stage, other)
    const endpoints = endpointsUpTo(23)
    await note(stage, acme, FAILING, ...endpoints.slice(0, 3))
    await fold(stage, acme)
    await note(stage, acme, FAILING, ...endpoints)
    await fold(stage, acme)
    await note(stage, other, FAILING, "whe_1", "whe_1")
    await fold(stage, other)
    assert.deepEqual(await told(stage, other), ["whe_0", "whe_1"])
    await note(stage, acme, FAILING, "whe_03", "whe_22")
    await fold(stage, acme)
    assert.deepEqual(await told(stage, acme), endpoints.slice(0, 10))
    await anHourLater(stage)
    await close(stage)
    const [, { times, endpoints: of, most }] = (await told(stage, acme)).at(-1) as [
      null,
      { times: number; endpoints: number; most: ReadonlyArray<object> }
    ]
    assert.deepEqual([times, of, most.length, most[0]], [18, 17, 10, { endpointId: "whe_22", times: 2 }])
  })

  it("fold_alerts, close_alert_hour: notes that are folded late have their own hours", async (stage) => {
    const acme = await alerting(stage, "acme")
    await note(stage, acme, DEAD, "whe_5h", "whe_4h30", "whe_3h", "whe_1m")
    for (const [endpoint, ago] of [
      ["whe_5h", "5 hours"],
      ["whe_4h30", "4.5 hours"],
      ["whe_3h", "3 hours"],
      ["whe_1m", "1 minute"]
    ])
      await stage.rows(
        "update posthorn.alert_notes set created_at = now() - $2::interval where endpoint_id = $1",
        endpoint,
        ago
      )
    assert.equal(await fold(stage, acme), 4)
    assert.deepEqual(
      await stage.rows(
        "select endpoint_id, digest is not null as summed, extract(hour from now() - happened_at)::integer as ago from posthorn.alerts order by id"
      ),
      [
        { endpoint_id: "whe_5h", summed: false, ago: 5 },
        { endpoint_id: "whe_4h30", summed: true, ago: 5 },
        { endpoint_id: "whe_3h", summed: false, ago: 3 },
        { endpoint_id: "whe_1m", summed: false, ago: 0 }
      ]
    )
    assert.equal(await close(stage), 0)
  })

  it("close_alert_hours: an hour waits for its notes, and not for later or other ones; so many at a time, the oldest first", async (stage) => {
    const acme = await alerting(stage, "acme")
    const other = await alerting(stage, "other")
    for (const workspace of [acme, other]) {
      await note(stage, workspace, FAILING, "whe_1")
      await fold(stage, workspace)
    }
    await note(stage, acme, FAILING, "whe_2")
    await note(stage, other, DEAD, "whe_2")
    await stage.rows("update posthorn.alert_hours set began_at = began_at - interval '61 minutes'")
    await stage.rows("update posthorn.alert_notes set created_at = created_at - interval '30 minutes'")
    assert.equal(await close(stage), 1)
    assert.deepEqual(await stage.rows("select workspace_id from posthorn.alert_hours"), [
      { workspace_id: acme }
    ])
    await stage.rows("update posthorn.alert_notes set created_at = now()")
    await stage.rows(
      "insert into posthorn.alert_hours select workspace_id, $1, began_at from posthorn.alert_hours",
      DEAD
    )
    await stage.rows(
      "update posthorn.alert_hours set began_at = began_at - interval '1 hour' where cause = $1",
      DEAD
    )
    assert.equal(await close(stage, 1), 1)
    assert.deepEqual(await stage.rows("select cause from posthorn.alert_hours"), [{ cause: FAILING }])
    assert.equal(await close(stage), 1)
  })

  it("fold_alerts, close_alert_hours: what another worker folds or closes is left to it, without waiting", async (stage) => {
    const acme = await alerting(stage, "acme")
    await note(stage, acme, FAILING, "whe_1", "whe_2", "whe_1")
    const other = await stage.other()
    await other.rows("begin")
    assert.equal(await fold(other, acme, 1), 1)
    await stage.rows("set statement_timeout = '8s'")
    assert.equal(await fold(stage, acme), 0)
    await other.rows("commit")
    assert.equal(await fold(stage, acme), 2)
    await anHourLater(stage)
    await other.rows("begin")
    await other.rows("select from posthorn.alert_hours for update")
    assert.equal(await close(stage), 0)
    await other.rows("rollback")
    assert.equal(await close(stage), 1)
    await stage.rows("reset statement_timeout")
  })

  it("has_alert_work: notes, an hour that is over, and pending alerts are work; an hour that runs and settled alerts are none", async (stage) => {
    const acme = await alerting(stage, "acme")
    const hasWork = () => stage.value("select posthorn.has_alert_work()")
    assert.equal(await hasWork(), false)
    await note(stage, acme, FAILING, "whe_1")
    assert.equal(await hasWork(), true)
    await fold(stage, acme)
    assert.equal(await hasWork(), true)
    await stage.rows("update posthorn.alerts set state = 'sent'")
    assert.equal(await hasWork(), false)
    await anHourLater(stage)
    assert.equal(await hasWork(), true)
    await close(stage)
    assert.equal(await hasWork(), false)
  })

  it("noted_workspaces, alerting_workspaces: each once, past an id, so many; of alerts those of the kind that are due", async (stage) => {
    const workspaces = []
    for (const slug of ["one", "two", "three"]) workspaces.push(await alerting(stage, slug, [EMAIL, SLACK]))
    const noted = async (past: string, most = 9) =>
      (await stage.rows("select w from posthorn.noted_workspaces($1, $2) as w", past, most)).map(({ w }) => w)
    const waiting = async (kind: string, past: string, most = 9) =>
      (await stage.rows("select * from posthorn.alerting_workspaces($1, $2, $3)", kind, past, most)).map(
        ({ is_due, workspace_id }) => [workspace_id, is_due]
      )
    const [one, two, three] = workspaces
    for (const workspace of workspaces) await note(stage, workspace, FAILING, "whe_1", "whe_2")
    assert.deepEqual(await noted(""), workspaces)
    assert.deepEqual(await noted(workspaces[0]!, 1), [workspaces[1]])
    for (const workspace of workspaces) await fold(stage, workspace)
    assert.deepEqual(await noted(""), [])
    assert.deepEqual(
      await waiting("email", ""),
      workspaces.map((workspace) => [workspace, true])
    )
    assert.deepEqual(await waiting("email", one!, 1), [[two, true]])
    await stage.rows(
      "update posthorn.alerts set due_at = now() + interval '1 hour' where workspace_id = $1 and kind = 'email'",
      one
    )
    await stage.rows("update posthorn.alerts set state = 'sent' where workspace_id = $1", two)
    await stage.rows(
      "update posthorn.alerts set state = 'sent' where workspace_id = $1 and kind = 'slack'",
      three
    )
    assert.deepEqual(await waiting("email", ""), [
      [one, false],
      [three, true]
    ])
    assert.deepEqual(await waiting("slack", ""), [
      [one, true],
      [three, false]
    ])
  })

  it("claim_alerts, settle_alert: each workspace's longest due of the kind, once while its lease runs; only the attempt that runs is settled", async (stage) => {
    const [one, two, three] = [
      await alerting(stage, "one", [EMAIL, SLACK]),
      await alerting(stage, "two", [EMAIL, SLACK]),
      await alerting(stage, "three")
    ]
    for (const workspace of [one, two, three]) {
      await note(stage, workspace, FAILING, "whe_1", "whe_2")
      await fold(stage, workspace)
    }
    await stage.rows(
      "update posthorn.alerts set due_at = now() - interval '1 minute' where endpoint_id = 'whe_2'"
    )
    const claim = (by: Session, workspaces: ReadonlyArray<string>, most = 9, lease = "1 minute") =>
      by.rows("select * from posthorn.claim_alerts('email', $1, $2, $3)", workspaces, most, lease)
    const seen = (claimed: ReadonlyArray<Row>) =>
      claimed.map(({ attempts, endpoint_id, slug }) => `${slug} ${endpoint_id} ${attempts}`)
    const first = await claim(stage, [one, two], 1)
    assert.deepEqual(seen(first), ["one whe_2 1"])
    assert.equal((first[0]!.alerts as ReadonlyArray<unknown>).length, 2)
    const other = await stage.other()
    await other.rows("begin")
    await other.rows(
      "select from posthorn.alerts where workspace_id = $1 and endpoint_id = 'whe_2' for update",
      two
    )
    await stage.rows("set statement_timeout = '8s'")
    assert.deepEqual(seen(await claim(stage, [one, two])), ["one whe_1 1", "two whe_1 1"])
    await other.rows("rollback")
    await stage.rows("reset statement_timeout")
    assert.deepEqual(seen(await claim(stage, [one, two], 9, "-1 minute")), ["two whe_2 1"])
    const [again] = await claim(stage, [one, two])
    assert.deepEqual(seen([again!]), ["two whe_2 2"])
    const settle = (attempt: number, outcome: string, workspace = two, id = again!.id) =>
      stage.value("select posthorn.settle_alert($1, $2, $3, $4, null, '0')", workspace, id, attempt, outcome)
    assert.equal(await settle(1, "sent"), false)
    assert.equal(await settle(2, "sent", one), false)
    assert.equal(await settle(2, "sent", two, "alr_other"), false)
    assert.equal(await settle(2, "sent"), true)
    assert.equal(await settle(2, "failed"), false)
    assert.deepEqual(seen(await claim(stage, [one, two])), [])
    assert.deepEqual(
      await stage.rows(
        "select state, sent_at is not null as told, count(*)::integer from posthorn.alerts group by 1, 2 order by 1, 2"
      ),
      [
        { state: "pending", told: false, count: 9 },
        { state: "sent", told: true, count: 1 }
      ]
    )
    await stage.rows(
      "update posthorn.alerts set due_at = now(), state = 'failed' where workspace_id = $1",
      one
    )
    assert.deepEqual(seen(await claim(stage, [one])), [])
  })

  it("remove_old_alerts: old ones of all workspaces, the oldest first, so many", async (stage) => {
    for (const slug of ["one", "two"]) {
      const workspace = await alerting(stage, slug)
      await note(stage, workspace, FAILING, "whe_old", "whe_older", "whe_young")
      await fold(stage, workspace)
    }
    await stage.rows(
      "update posthorn.alerts set created_at = now() - interval '31 days' where endpoint_id = 'whe_old'"
    )
    await stage.rows(
      "update posthorn.alerts set created_at = now() - interval '32 days' where endpoint_id = 'whe_older'"
    )
    const remove = (most: number) => stage.value("select posthorn.remove_old_alerts('30 days', $1)", most)
    assert.equal(await remove(2), 2)
    assert.deepEqual(
      (await stage.rows("select distinct endpoint_id from posthorn.alerts order by 1")).map(
        ({ endpoint_id }) => endpoint_id
      ),
      ["whe_old", "whe_young"]
    )
    assert.equal(await remove(9), 2)
    assert.equal(await remove(9), 0)
  })
})
