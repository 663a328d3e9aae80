/** Notes that become alerts: what is told at once, what in the digest, by which worker, and what is removed. */
import assert from "node:assert/strict"
import { type Session, type Stage, writeScenarios } from "./Stage.ts"

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
    "select posthorn.note_alert($1, $2, json_build_object('endpointId', e)::jsonb) from unnest($3::text[]) with ordinality as n(e, i) order by i",
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
  it("note_alert: only for the workspace and the causes that it names, and of an endpoint", async (stage) => {
    const acme = await alerting(stage, "acme", [{ ...EMAIL, on: [FAILING] }])
    const other = await alerting(stage, "other", [])
    await note(stage, acme, FAILING, "whe_1")
    await note(stage, acme, DEAD, "whe_1")
    await note(stage, other, FAILING, "whe_1")
    await stage.rows("select posthorn.note_alert($1, $2, '{}')", acme, FAILING)
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
    await note(stage, acme, FAILING, "whe_1", "whe_2")
    const other = await stage.other()
    await other.rows("begin")
    await other.rows("select from posthorn.alert_notes where endpoint_id = 'whe_1' for update")
    await stage.rows("set statement_timeout = '8s'")
    assert.equal(await fold(stage, acme), 1)
    await other.rows("rollback")
    await fold(stage, acme)
    await anHourLater(stage)
    await other.rows("begin")
    await other.rows("select from posthorn.alert_hours for update")
    assert.equal(await close(stage), 0)
    await other.rows("rollback")
    assert.equal(await close(stage), 1)
    await stage.rows("reset statement_timeout")
  })

  it("noted_workspaces, alerting_workspaces: each once, past an id, so many; of alerts those of the kind that are due", async (stage) => {
    const workspaces = []
    for (const slug of ["one", "two", "three"]) workspaces.push(await alerting(stage, slug, [EMAIL, SLACK]))
    const list = (query: string, ...values: ReadonlyArray<unknown>) =>
      stage.rows(`select w from posthorn.${query} as w`, ...values).then((found) => found.map(({ w }) => w))
    const noted = (past: string, most = 9) => list("noted_workspaces($1, $2)", past, most)
    const due = (kind: string, past: string, most = 9) =>
      list("alerting_workspaces($1, $2, $3)", kind, past, most)
    for (const workspace of workspaces) await note(stage, workspace, FAILING, "whe_1", "whe_2")
    assert.deepEqual(await noted(""), workspaces)
    assert.deepEqual(await noted(workspaces[0]!, 1), [workspaces[1]])
    for (const workspace of workspaces) await fold(stage, workspace)
    assert.deepEqual(await noted(""), [])
    assert.deepEqual(await due("email", ""), workspaces)
    assert.deepEqual(await due("email", workspaces[0]!, 1), [workspaces[1]])
    await stage.rows(
      "update posthorn.alerts set due_at = now() + interval '1 hour' where workspace_id = $1 and kind = 'email'",
      workspaces[0]
    )
    await stage.rows("update posthorn.alerts set state = 'sent' where workspace_id = $1", workspaces[1])
    assert.deepEqual(await due("email", ""), [workspaces[2]])
    await stage.rows("update posthorn.alerts set state = 'sent' where kind = 'email'")
    assert.deepEqual(await due("slack", ""), [workspaces[0], workspaces[2]])
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
