/** Statements of repositories: which endpoint is locked, changed and removed, and that its deliveries go first. */
import assert from "node:assert/strict"
import { SqlClient } from "@effect/sql/SqlClient"
import { newId } from "@posthorn/domain/Ids"
import { whole } from "@posthorn/testkit/Whole"
import { Effect } from "effect"
import { SecretsRepo } from "../../src/operations/SecretsRepo.ts"
import { type EndpointRow, EndpointsRepo } from "../../src/repositories/EndpointsRepo.ts"
import { type Stage, writeScenarios } from "./Stage.ts"
import { changesNothing, changesOnly, twinOf } from "./Twin.ts"

/** Two endpoints, and the same two in another workspace. */
const scene = async (stage: Stage) => {
  const acme = await stage.workspace()
  const [one, two] = [await stage.endpoint(acme), await stage.endpoint(acme)]
  const twin = await twinOf(stage, acme, "endpoints")
  return { acme, one, two, twin, endpoints: await stage.repos.get(EndpointsRepo) }
}

/** The endpoints that are locked against this kind of lock, as `workspace id`. */
const lockedFor = async (stage: Stage, lock: string) => {
  const free = await stage.rows(
    `select workspace_id || ' ' || id as key from posthorn.endpoints ${lock} skip locked`
  )
  const all = await stage.rows("select workspace_id || ' ' || id as key from posthorn.endpoints")
  const known = new Set(free.map(({ key }) => key))
  return all.map(({ key }) => key).filter((key) => !known.has(key))
}

/** Makes plans use hashes, so that rows are locked in physical order unless the statement orders them. */
const asTheyLie = Effect.flatMap(SqlClient, (sql) =>
  Effect.all([
    sql`set local enable_nestloop = off`,
    sql`set local enable_mergejoin = off`,
    sql`set local enable_indexscan = off`,
    sql`set local enable_bitmapscan = off`
  ])
)

/** Whether a delivery can be locked while a removal waits for one with a later id that is stored before it. */
export const removesInOrder = async <E>(
  stage: Stage,
  workspace: string,
  removal: Effect.Effect<unknown, E, SqlClient>
) => {
  const [first, last] = await stage.deliveries(workspace, "acme", 2)
  // Writes a new version of the row, which is stored after the other row.
  await stage.rows("update posthorn.deliveries set attempts = attempts where id = $1", first!.id)
  const other = await stage.other()
  await other.rows("begin")
  await other.rows("select from posthorn.deliveries where id = $1 for update", last!.id)
  const removing = stage.repos.within(Effect.zipRight(asTheyLie, removal), async () => undefined)
  const settled = removing.then(
    () => "removed",
    () => "gave up"
  )
  await stage.until("the removal waits", async () =>
    Boolean(
      await other.value(
        `select exists (select from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and pid <> $1)`,
        stage.pid
      )
    )
  )
  const code = await stage.code("select from posthorn.deliveries where id = $1 for update nowait", first!.id)
  await other.rows("commit")
  assert.equal(code, "55P03", "the first is locked before the last is waited for")
  assert.equal(await settled, "removed")
}

const settingsOf = ({
  description,
  eventTypes,
  externalId,
  filter,
  metadata,
  policy,
  request,
  url
}: EndpointRow) => ({
  description,
  eventTypes,
  externalId,
  filter,
  metadata,
  policy,
  request,
  url
})

const scenarios = writeScenarios((it) => {
  it("EndpointsRepo.ts insert: an endpoint that is created disabled counts as disabled by hand, from that moment on", async (stage) => {
    const acme = await stage.workspace()
    const endpoints = await stage.repos.get(EndpointsRepo)
    for (const enabled of [true, false])
      await stage.repos.run(
        endpoints.insert(acme, {
          id: newId("endpoint"),
          url: "https://example.com",
          description: null,
          eventTypes: ["a"],
          externalId: null,
          metadata: {},
          policy: null,
          request: null,
          filter: null,
          requestSecrets: null,
          enabled,
          secret: Buffer.from("secret"),
          publicKey: null
        })
      )
    assert.deepEqual(
      await stage.rows(
        "select enabled, disabled_reason as reason, disabled_at is not null as since from posthorn.endpoints order by id"
      ),
      [
        { enabled: true, reason: null, since: false },
        { enabled: false, reason: "manual", since: true }
      ]
    )
  })

  it("EndpointsRepo.ts lock, EndpointsRepo.ts lockForUpdate, EndpointsRepo.ts lockKeys, EndpointsRepo.ts lockForRemoval: a locked endpoint can be neither changed nor removed; others can", async (stage) => {
    const { acme, endpoints, one, twin, two } = await scene(stage)
    const { lock, lockForRemoval, lockForUpdate, lockKeys } = endpoints
    for (const [workspace, id] of [
      [acme, one],
      [acme, two],
      [twin, one]
    ] as const) {
      const found = stage.repos.run(lock(whole(workspace), id))
      assert.deepEqual(
        [(await found)?.id, (await stage.repos.run(lockForUpdate(whole(workspace), id)))?.id],
        [id, id]
      )
      const held = (call: Effect.Effect<unknown, unknown, SqlClient>, against: string) =>
        stage.repos.within(call, async () => {
          assert.deepEqual(await lockedFor(stage, against), [`${workspace} ${id}`])
        })
      await held(lock(whole(workspace), id), "for no key update")
      await held(lockForUpdate(whole(workspace), id), "for share")
      await held(lockKeys(whole(workspace), id), "for share")
      await held(lockForRemoval(whole(workspace), id), "for key share")
    }
  })

  it("EndpointsRepo.ts update, EndpointsRepo.ts setKeyPair, EndpointsRepo.ts rotate, EndpointsRepo.ts remove: only the endpoint with this id in this workspace is changed, rotated and removed", async (stage) => {
    const { acme, endpoints, one, twin } = await scene(stage)
    for (const workspace of [acme, twin]) {
      const present = (await stage.repos.run(endpoints.find(whole(workspace), one)))!
      const next = {
        ...settingsOf(present),
        enabled: true,
        description: "new",
        request: { body: "payload" } as const
      }
      const keys = { secret: Buffer.from("new"), publicKey: Buffer.alloc(32) }
      const acts = [
        () => stage.repos.run(endpoints.update(whole(workspace), present, next, null)),
        () => stage.repos.run(endpoints.setKeyPair(whole(workspace), one, keys)),
        () => stage.repos.run(endpoints.rotate(whole(workspace), one, keys)),
        () => stage.repos.run(endpoints.remove(workspace, one, 9))
      ]
      for (const act of acts) await changesOnly(stage, "endpoints", workspace, one, act)
    }
  })

  it("SecretsRepo.ts replace: a sealed secret is replaced, unless it was rotated since it was read", async (stage) => {
    const { acme, one, twin } = await scene(stage)
    const secrets = await stage.repos.get(SecretsRepo)
    const read = async (workspace: string) => ({
      workspaceId: workspace,
      endpointId: one,
      requestSecrets: null,
      ...(await stage.repos.run(secrets.find(workspace, one)))!
    })
    const to = (secret: string) => ({
      secret: Buffer.from(secret),
      previousSecret: null,
      requestSecrets: null
    })
    for (const workspace of [acme, twin]) {
      const old = await read(workspace)
      const replace = (secret: string) => () => stage.repos.run(secrets.replace(old, to(secret)))
      await changesOnly(stage, "endpoints", workspace, one, replace("again"))
      await changesNothing(stage, "endpoints", replace("once more"))
    }
    const before = await read(acme)
    await stage.rows(
      "update posthorn.endpoints set previous_secret = 'older', previous_secret_expires_at = now() where id = $1",
      one
    )
    await changesNothing(stage, "endpoints", () => stage.repos.run(secrets.replace(before, to("new"))))
    const latest = await read(acme)
    await stage.rows("update posthorn.endpoints set request_secrets = 'sealed' where id = $1", one)
    await changesNothing(stage, "endpoints", () => stage.repos.run(secrets.replace(latest, to("new"))))
  })

  it("remove_endpoint, remove_of_endpoint, remove_deleted, remove_deliveries: an endpoint is removed with a part of its history, and the rest in steps", async (stage) => {
    const acme = await stage.workspace()
    const [one, two] = [await stage.endpoint(acme), await stage.endpoint(acme)]
    await stage.deliveries(acme, "acme", 3)
    await stage.rows(
      `insert into posthorn.missed_events (workspace_id, endpoint_id, event_id, created_at)
       select v.workspace_id, e.id, v.id, v.created_at from posthorn.events v cross join posthorn.endpoints e`
    )
    const twin = await twinOf(stage, acme, "events", "endpoints", "deliveries", "missed_events")
    const left = async (workspace: string, endpoint: string) =>
      Object.values(
        await stage.row(
          `select exists (select from posthorn.endpoints where workspace_id = $1 and id = $2) as exists,
            (select count(*)::integer from posthorn.deliveries where workspace_id = $1 and endpoint_id = $2) as deliveries,
            (select count(*)::integer from posthorn.missed_events where workspace_id = $1 and endpoint_id = $2) as missed`,
          workspace,
          endpoint
        )
      )
    const remove = (endpoint: string, most: number) =>
      stage.value("select posthorn.remove_endpoint($1, $2, $3)", acme, endpoint, most)
    const step = (most: number) => stage.value("select posthorn.remove_deleted($1, '0')", most)
    const whole = [true, 3, 3]
    assert.equal(await step(2), false)
    assert.deepEqual([await remove(one, 2), await left(acme, one)], [true, [false, 1, 1]])
    assert.deepEqual([await remove(one, 2), await left(acme, one)], [false, [false, 1, 1]])
    assert.deepEqual(
      [await left(acme, two), await left(twin, one), await left(twin, two)],
      [whole, whole, whole]
    )
    const other = await stage.other()
    await other.rows("begin")
    await other.rows("select from posthorn.deleted_endpoints for update")
    assert.equal(await step(2), false)
    await other.rows("rollback")
    // Longer in one of the two kinds of history than in the other.
    await stage.rows(
      "delete from posthorn.deliveries where workspace_id = $1 and endpoint_id = $2",
      acme,
      two
    )
    assert.deepEqual([await remove(two, 1), await left(acme, two)], [true, [false, 0, 2]])
    await stage.rows(
      "delete from posthorn.missed_events where workspace_id = $1 and endpoint_id = $2",
      twin,
      one
    )
    await stage.rows("select posthorn.remove_endpoint($1, $2, 1)", twin, one)
    assert.deepEqual(await left(twin, one), [false, 2, 0])
    const unfinished = () => stage.value("select count(*)::integer from posthorn.deleted_endpoints")
    assert.deepEqual([await step(1), await unfinished()], [true, 3])
    const toTheEnd = () => stage.value("select posthorn.remove_deleted(1, '1 hour')")
    assert.deepEqual([await toTheEnd(), await unfinished()], [true, 2])
    while (await step(1));
    const nothing = [false, 0, 0]
    assert.deepEqual(
      [await left(acme, one), await left(acme, two), await left(twin, one)],
      [nothing, nothing, nothing]
    )
    assert.deepEqual(await left(twin, two), whole)
    await stage.rows("select posthorn.remove_endpoint($1, $2, 4)", twin, two)
    assert.deepEqual(await left(twin, two), nothing)
    assert.equal(await step(1), false)
  })

  it("remove_deliveries: what an endpoint missed is removed with it, and nothing else", async (stage) => {
    const acme = await stage.workspace()
    const [one, two] = [await stage.endpoint(acme), await stage.endpoint(acme)]
    await stage.publish("acme", "a")
    await stage.rows(
      `insert into posthorn.missed_events (workspace_id, endpoint_id, event_id, created_at)
       select v.workspace_id, e.id, v.id, v.created_at from posthorn.events v cross join posthorn.endpoints e`
    )
    const twin = await twinOf(stage, acme, "events", "endpoints", "missed_events")
    await stage.rows(
      "insert into posthorn.deleted_endpoints (workspace_id, endpoint_id) values ($1, $2), ($3, $4)",
      acme,
      two,
      twin,
      one
    )
    await stage.rows("delete from posthorn.endpoints where workspace_id = $1 and id = $2", acme, one)
    assert.deepEqual(
      await stage.rows("select endpoint_id as e from posthorn.deliveries where workspace_id = $1", acme),
      [{ e: two }]
    )
    assert.deepEqual(
      await stage.rows(
        "select workspace_id as w, endpoint_id as e from posthorn.missed_events where workspace_id = $1",
        acme
      ),
      [{ w: acme, e: two }]
    )
    assert.equal(
      await stage.value("select count(*)::integer from posthorn.missed_events where workspace_id = $1", twin),
      2
    )
  })

  it("EndpointsRepo.ts remove: an endpoint's deliveries are locked in the order of their ids, as recording locks them", async (stage) => {
    const acme = await stage.workspace()
    const one = await stage.endpoint(acme)
    const endpoints = await stage.repos.get(EndpointsRepo)
    await removesInOrder(stage, acme, endpoints.remove(acme, one, 2))
  })
})

export const endpoints = scenarios
