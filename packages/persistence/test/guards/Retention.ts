/** Which old rows are removed, which stay, and which process runs the daily job. */
import assert from "node:assert/strict"
import { type Row, type Stage, writeScenarios } from "./Stage.ts"

/** Two workspaces, each with an old and a young row of everything; the other workspace's old rows are older still. */
const scene = async (stage: Stage) => {
  const workspaces = { acme: await stage.workspace("acme"), other: await stage.workspace("other") }
  await stage.rows("alter table posthorn.deliveries disable trigger deliveries_keep_ids")
  await stage.rows("alter table posthorn.events disable trigger events_keep_ids")
  for (const [slug, workspace] of Object.entries(workspaces)) {
    await stage.endpoint(workspace)
    await stage.publish(slug, "old", "old")
    await stage.publish(slug, "young", "young")
    const age = slug === "other" ? "40 days" : "31 days"
    const ageing = (statement: string) => stage.rows(statement, workspace, age)
    await ageing(`with queued as (
        update posthorn.queue q set delivery_id = posthorn.id_at('whd_', now() - $2::interval) || right(delivery_id, 16)
        from posthorn.deliveries d where d.id = delivery_id and d.event_type = 'old' and d.workspace_id = $1
      ) update posthorn.deliveries set created_at = now() - $2::interval,
        id = posthorn.id_at('whd_', now() - $2::interval) || right(id, 16) where event_type = 'old' and workspace_id = $1`)
    await ageing(`update posthorn.events set id = posthorn.id_at('evt_', now() - $2::interval) || right(id, 16)
      where event_type = 'old' and workspace_id = $1`)
    await ageing(
      "update posthorn.idempotency_keys set created_at = now() - $2::interval where key like 'old%' and workspace_id = $1"
    )
  }
  await stage.rows(
    `insert into posthorn.idempotency_keys (workspace_id, key, fingerprint, event_id, created_at)
     select workspace_id, 'older', fingerprint, event_id, created_at - interval '1 day' from posthorn.idempotency_keys
     where key = 'old' and workspace_id = $1`,
    workspaces.other
  )
  return workspaces
}

const left = async (stage: Stage, table: string, column: string) =>
  (
    await stage.rows(`select w.slug || ' ' || t.${column} as one from posthorn.${table} t
    join posthorn.workspaces w on w.id = t.workspace_id order by 1`)
  ).map(({ one }) => one)

const WITHOUT_OLD_OF_ACME = ["acme young", "other old", "other young"]

const scenarios = writeScenarios((it) => {
  it("begin_daily_run, end_daily_run: one process runs the job each day, and another one if the first seems dead; a new day is a new run", async (stage) => {
    const begin = (job = "j") => stage.value("select posthorn.begin_daily_run($1)", job)
    const end = () => stage.rows("select posthorn.end_daily_run('j')")
    assert.equal(await begin(), true)
    assert.equal(await begin(), false)
    await stage.rows("update posthorn.daily_runs set started_at = now() - interval '16 minutes'")
    assert.equal(await begin(), true)
    await begin("other")
    await stage.rows(
      "insert into posthorn.daily_runs (job, day) values ('j', current_date - 31), ('other', current_date - 31)"
    )
    await stage.rows(
      "insert into posthorn.daily_runs (job, day, finished_at) values ('j', current_date - 2, '2026-01-01'), ('j', current_date - 29, '2026-01-01')"
    )
    await end()
    assert.deepEqual(
      await stage.rows(
        `select job, (now() at time zone 'UTC')::date - day as age, finished_at > now() - interval '1 hour' as now
           from posthorn.daily_runs order by 1, 2`
      ),
      [
        { job: "j", age: 0, now: true },
        { job: "j", age: 2, now: false },
        { job: "j", age: 29, now: false },
        { job: "other", age: 0, now: null },
        { job: "other", age: 31, now: null }
      ]
    )
    await stage.rows("update posthorn.daily_runs set started_at = now() - interval '16 minutes'")
    assert.equal(await begin(), false)
  })

  it("remove_old_deliveries: old deliveries of this workspace past the position are removed, except pending ones and dead letters", async (stage) => {
    const { acme } = await scene(stage)
    const remove = (past: string) =>
      stage.value(
        "select removed from posthorn.remove_old_deliveries($1, interval '30 days', 1, $2)",
        acme,
        past
      )
    assert.equal(await remove(""), 0)
    await stage.rows(`delete from posthorn.queue q using posthorn.deliveries d
        where d.id = q.delivery_id and d.event_type = 'old'`)
    const givenUp = (eventType: string) =>
      stage.rows(
        `insert into posthorn.dead_letters (workspace_id, delivery_id)
           select workspace_id, id from posthorn.deliveries where event_type = $1`,
        eventType
      )
    await givenUp("old")
    assert.equal(await remove(""), 0)
    await stage.rows("delete from posthorn.dead_letters")
    await givenUp("young")
    const yesterday = await stage.value("select posthorn.id_at('whd_', now() - interval '1 day')")
    assert.equal(await remove(yesterday as string), 0)
    assert.equal(await remove(""), 1)
    await stage.rows("delete from posthorn.queue")
    await stage.rows("delete from posthorn.dead_letters")
    assert.equal(await remove(""), 0)
    assert.deepEqual(await left(stage, "deliveries", "event_type"), WITHOUT_OLD_OF_ACME)
  })

  it("remove_waiting: what waits at an endpoint that has been disabled for as long is removed in steps, and counted there", async (stage) => {
    const acme = await stage.workspace("acme")
    const other = await stage.workspace("other")
    const endpoints = [await stage.endpoint(acme), await stage.endpoint(acme), await stage.endpoint(acme)]
    const [empty, unused, second] = endpoints.sort() as [string, string, string]
    await stage.endpoint(other)
    for (const slug of ["acme", "other"]) await stage.deliveries(slug === "acme" ? acme : other, slug, 3)
    await stage.rows("delete from posthorn.queue where endpoint_id = $1", empty)
    const disable = (age: string, endpoint?: string) =>
      stage.rows(
        `update posthorn.endpoints set enabled = false, disabled_reason = 'manual', disabled_at = now() - $1::interval
         where $2::text is null or id = $2`,
        age,
        endpoint ?? null
      )
    const remove = async (past: string) =>
      (
        await stage.rows("select * from posthorn.remove_waiting($1, interval '30 days', 2, $2)", acme, past)
      )[0]!
    const none = { past_id: "", scanned: 0, removed: 0 }
    await stage.rows("update posthorn.endpoints set disabled_at = now() - interval '31 days'")
    assert.deepEqual(await remove(""), none)
    await disable("29 days")
    assert.deepEqual(await remove(""), none)
    await disable("31 days")
    const changing = await stage.other()
    await changing.rows("begin")
    await changing.rows("update posthorn.endpoints set description = 'x' where workspace_id = $1", acme)
    assert.deepEqual(await remove(""), none)
    await changing.rows("rollback")
    assert.deepEqual(await remove(second), { ...none, past_id: second })
    assert.deepEqual(await remove(""), { past_id: "", scanned: 2, removed: 2 })
    assert.deepEqual(await remove(""), { past_id: unused, scanned: 2, removed: 1 })
    assert.deepEqual(await remove(unused), { past_id: unused, scanned: 2, removed: 2 })
    assert.deepEqual(await remove(unused), { past_id: second, scanned: 2, removed: 1 })
    assert.deepEqual(await remove(second), { ...none, past_id: second })
    const left = (table: string) =>
      stage.rows(
        `select workspace_id as id, count(*)::integer as n from posthorn.${table} group by 1 order by 1`
      )
    const byId = (rows: ReadonlyArray<{ id: string; n: number }>) =>
      [...rows].sort((a, b) => (a.id < b.id ? -1 : 1))
    assert.deepEqual(
      await left("deliveries"),
      byId([
        { id: acme, n: 3 },
        { id: other, n: 3 }
      ])
    )
    assert.deepEqual(await left("queue"), [{ id: other, n: 3 }])
    assert.deepEqual(
      await stage.rows(
        "select id, expired from posthorn.endpoints where workspace_id = $1 order by id",
        acme
      ),
      [
        { id: empty, expired: 0 },
        { id: unused, expired: 3 },
        { id: second, expired: 3 }
      ]
    )
  })

  it("remove_old_events, remove_old_keys, id_at: old events and keys of this workspace are removed", async (stage) => {
    const { acme } = await scene(stage)
    const removeEvents = () =>
      stage.value("select removed from posthorn.remove_old_events($1, interval '30 days', 1, '')", acme)
    const removeKeys = () => stage.value("select posthorn.remove_old_keys($1, interval '24 hours', 1)", acme)
    assert.deepEqual([await removeEvents(), await removeEvents()], [1, 0])
    assert.deepEqual(await left(stage, "events", "event_type"), WITHOUT_OLD_OF_ACME)
    assert.deepEqual([await removeKeys(), await removeKeys()], [1, 0])
    assert.deepEqual(await left(stage, "idempotency_keys", "key"), [
      "acme young",
      "other old",
      "other older",
      "other young"
    ])
  })

  it("remove_old_events, replay: an old event stays while a delivery needs its payload, also one that is being created; others past it are removed", async (stage) => {
    const acme = await stage.workspace()
    const endpoint = await stage.endpoint(acme)
    const [needed, replayed, gone] = [
      await stage.publish("acme", "a"),
      await stage.publish("acme", "a"),
      await stage.publish("acme", "a")
    ]
    await stage.rows("update posthorn.deliveries set status = 'dead_lettered'")
    const ids = (event: Row) => (event.delivery_ids as Array<string>)[0]
    await stage.rows("delete from posthorn.deliveries where id = $1", ids(gone))
    const remove = async (past = "") =>
      stage.row("select * from posthorn.remove_old_events($1, interval '0', 2, $2)", acme, past)
    const young = await stage.row(
      "select * from posthorn.remove_old_events($1, interval '30 days', 9, '')",
      acme
    )
    assert.deepEqual([young.scanned, young.removed], [0, 0])
    const first = await remove()
    assert.deepEqual([first.scanned, first.removed, first.past_id], [2, 0, replayed.id])
    const other = await stage.other()
    await other.rows("begin")
    const made = await other.rows(
      "select * from posthorn.replay($1, $2, null, array[$3], 'rpl_1', 'operator', 'operator', 'sql', 'x')",
      acme,
      endpoint,
      replayed.id
    )
    assert.equal(made.length, 1)
    await stage.rows("delete from posthorn.deliveries where id = $1", ids(replayed))
    assert.equal((await remove()).removed, 0)
    await other.rows("commit")
    assert.deepEqual([(await remove()).removed, (await remove(replayed.id as string)).removed], [0, 1])
    assert.deepEqual(
      (await stage.rows("select id from posthorn.events order by id")).map(({ id }) => id),
      [needed.id, replayed.id]
    )
  })

  it("remove_old_answers, erase_sealed_answers: old answers of this workspace, or of none, are removed; those with a secret lose it earlier", async (stage) => {
    const { acme, other } = await scene(stage)
    const keep = (workspace: string | null, key: string, age: string, body: string | null) =>
      stage.rows(
        `insert into posthorn.idempotent_answers (workspace_id, caller, key, fingerprint, status, headers, body, sealed, created_at)
           values ($1, 'c', $2, 'f', 200, '{}', $4, case when $4::text is null then 's'::bytea end, now() - $3::interval)`,
        workspace,
        key,
        age,
        body
      )
    for (const workspace of [acme, other, null]) {
      await keep(workspace, "old", "25 hours", "{}")
      await keep(workspace, "young", "11 minutes", null)
      await keep(workspace, "younger", "1 minute", null)
    }
    const keys = async () =>
      (
        await stage.rows(`select coalesce(w.slug, 'none') || ' ' || a.key as one from posthorn.idempotent_answers a
          left join posthorn.workspaces w on w.id = a.workspace_id where key = 'old' order by 1`)
      ).map(({ one }) => one)
    const remove = (workspace: string | null) =>
      stage.value("select posthorn.remove_old_answers($1, interval '24 hours', 10)", workspace)
    assert.equal(await remove(acme), 1)
    assert.deepEqual(await keys(), ["none old", "other old"])
    assert.equal(await remove(null), 1)
    assert.deepEqual(await keys(), ["other old"])
    assert.equal(await stage.value("select posthorn.erase_sealed_answers(interval '10 minutes')"), 3)
    assert.deepEqual(
      (await stage.rows("select key from posthorn.idempotent_answers where sealed is not null")).map(
        ({ key }) => key
      ),
      ["younger", "younger", "younger"]
    )
  })

  it("workspaces_to_tidy: workspaces with anything old are found, and no others", async (stage) => {
    const { acme, other } = await scene(stage)
    const wanted = async () =>
      (await stage.rows("select posthorn.workspaces_to_tidy(interval '30 days', interval '24 hours') as id"))
        .map(({ id }) => id)
        .sort()
    const keep = (workspace: string, age: string) =>
      stage.rows(
        `insert into posthorn.idempotent_answers (workspace_id, caller, key, fingerprint, status, headers, created_at)
           values ($1, 'c', $2::text, 'f', 200, '{}', now() - $2::text::interval)`,
        workspace,
        age
      )
    for (const workspace of [acme, other]) await keep(workspace, "1 hour")
    await keep(acme, "25 hours")
    const OLD = {
      answers: "delete from posthorn.idempotent_answers where key = '25 hours' and workspace_id = $1",
      deliveries: "delete from posthorn.deliveries where event_type = 'old' and workspace_id = $1",
      events: "delete from posthorn.events where event_type = 'old' and workspace_id = $1",
      keys: "delete from posthorn.idempotency_keys where key like 'old%' and workspace_id = $1"
    }
    for (const statement of Object.values(OLD)) await stage.rows(statement, other)
    assert.deepEqual(await wanted(), [acme])
    // Each kind of old row is enough.
    for (const kept of Object.keys(OLD)) {
      await stage.rows("begin")
      for (const [kind, statement] of Object.entries(OLD))
        if (kind !== kept) await stage.rows(statement, acme)
      assert.deepEqual(await wanted(), [acme], kept)
      await stage.rows("rollback")
    }
    for (const statement of Object.values(OLD)) await stage.rows(statement, acme)
    assert.deepEqual(await wanted(), [])
  })
})

export const retention = scenarios
