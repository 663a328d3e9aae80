/** Statements of repositories: each changes one row of one workspace, and removing a workspace removes all its rows. */

import assert from "node:assert/strict"
import { newId } from "@posthorn/domain/Ids"
import { whole } from "@posthorn/testkit/Whole"
import { IdempotencyRepo } from "../../src/repositories/IdempotencyRepo.ts"
import { MembersRepo } from "../../src/repositories/MembersRepo.ts"
import { NotificationsRepo } from "../../src/repositories/NotificationsRepo.ts"
import { ReplaysRepo } from "../../src/repositories/ReplaysRepo.ts"
import { WorkspacesRepo } from "../../src/repositories/WorkspacesRepo.ts"
import { removesInOrder } from "./Endpoints.ts"
import { start } from "./ReplayStage.ts"
import { type Stage, TRACE, writeScenarios } from "./Stage.ts"
import { changesNothing, changesOnly, twinOf } from "./Twin.ts"

const member = async (stage: Stage, workspace: string, email: string) => {
  const id = newId("member")
  const members = await stage.repos.get(MembersRepo)
  await stage.repos.run(members.insert(workspace, { id, email, name: "x", role: "viewer" }))
  return id
}

const slugs = async (stage: Stage, table: string) =>
  (
    await stage.rows(
      `select w.slug from posthorn.${table} t join posthorn.workspaces w on w.id = t.workspace_id order by 1`
    )
  ).map(({ slug }) => slug)

const scenarios = writeScenarios((it) => {
  it("MembersRepo.ts lock, MembersRepo.ts update, MembersRepo.ts remove: only the member with this id in this workspace is changed and removed, by one transaction at a time", async (stage) => {
    const acme = await stage.workspace()
    const [one, two] = [await member(stage, acme, "a@b.c"), await member(stage, acme, "b@b.c")]
    const twin = await twinOf(stage, acme, "members")
    const members = await stage.repos.get(MembersRepo)
    for (const [workspace, id] of [
      [acme, one],
      [acme, two],
      [twin, one]
    ] as const) {
      assert.equal((await stage.repos.run(members.lock(workspace, id)))?.id, id)
      await stage.repos.within(members.lock(workspace, id), async () => {
        const free = "select workspace_id, id from posthorn.members for no key update skip locked"
        const known = (await stage.rows(free)).map((row) => `${row.workspace_id} ${row.id}`)
        assert.equal(known.length, 3)
        assert.ok(!known.includes(`${workspace} ${id}`))
      })
    }
    const changed = { id: one, email: "new@b.c", name: "new", role: "admin" } as const
    for (const workspace of [acme, twin]) {
      await changesOnly(stage, "members", workspace, one, () =>
        stage.repos.run(members.update(workspace, changed))
      )
      await changesOnly(stage, "members", workspace, one, () =>
        stage.repos.run(members.remove(workspace, one))
      )
    }
  })

  it("NotificationsRepo.ts markRead: only this notification of this workspace is marked as read", async (stage) => {
    const acme = await stage.workspace()
    for (const id of ["ntf_1", "ntf_2"])
      await stage.rows(
        "insert into posthorn.notifications (workspace_id, id, kind, message) values ($1, $2, 'endpoint_disabled', 'x')",
        acme,
        id
      )
    const twin = await twinOf(stage, acme, "notifications")
    const notifications = await stage.repos.get(NotificationsRepo)
    for (const workspace of [acme, twin])
      await changesOnly(stage, "notifications", workspace, "ntf_1", () =>
        stage.repos.run(notifications.markRead(whole(workspace), "ntf_1"))
      )
  })

  it("ReplaysRepo.ts cancel: only this job of this workspace is cancelled, while it runs", async (stage) => {
    const acme = await stage.workspace()
    const endpoint = await stage.endpoint(acme)
    const one = await start(stage, { workspace: acme, endpoint })
    await start(stage, { workspace: acme, endpoint })
    const twin = await twinOf(stage, acme, "endpoints", "replays")
    const replays = await stage.repos.get(ReplaysRepo)
    for (const workspace of [acme, twin]) {
      const cancel = () => stage.repos.run(replays.cancel(whole(workspace), one))
      await changesOnly(stage, "replays", workspace, one, cancel)
      await changesNothing(stage, "replays", cancel)
    }
  })

  it("IdempotencyRepo.ts settle: a later answer is stored under its own key, caller and workspace", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const idempotency = await stage.repos.get(IdempotencyRepo)
    const owners = [acme, other, null].flatMap((workspaceId) =>
      ["one", "two"].flatMap((caller) => ["k", "l"].map((key) => ({ workspaceId, caller, key })))
    )
    const answer = {
      fingerprint: Buffer.from("f"),
      status: 200,
      headers: {},
      body: null,
      sealed: null,
      runningSeconds: 60
    }
    for (const owner of owners) await stage.repos.run(idempotency.keep(owner, answer))
    for (const [n, owner] of owners.entries()) {
      await stage.repos.run(idempotency.settle(owner, `answer ${n}`))
      const settled = await stage.rows("select 1 from posthorn.idempotent_answers where body is not null")
      assert.equal(settled.length, n + 1)
      assert.equal((await stage.repos.run(idempotency.find(owner)))?.body, `answer ${n}`)
    }
  })

  it("IdempotencyRepo.ts keep: a key that is used again after a day gets the new answer instead of the old one", async (stage) => {
    const workspaceId = await stage.workspace()
    const idempotency = await stage.repos.get(IdempotencyRepo)
    const owner = { workspaceId, caller: "one", key: "k" }
    const keep = (body: string) =>
      stage.repos.run(
        idempotency.keep(owner, {
          fingerprint: Buffer.from("f"),
          status: 200,
          headers: {},
          body,
          sealed: null,
          runningSeconds: null
        })
      )
    await keep("old")
    await stage.rows("update posthorn.idempotent_answers set created_at = now() - interval '25 hours'")
    await keep("new")
    assert.equal((await stage.repos.run(idempotency.find(owner)))?.body, "new")
  })

  it("WorkspacesRepo.ts hold: one transaction at a time holds a workspace; other workspaces can be held meanwhile, and publishing goes on", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const workspaces = await stage.repos.get(WorkspacesRepo)
    await stage.repos.within(workspaces.hold(acme), async () => {
      const free = (lock: string) => stage.rows(`select id from posthorn.workspaces ${lock} skip locked`)
      assert.deepEqual(await free("for no key update"), [{ id: other }])
      assert.equal((await free("for key share")).length, 2)
    })
  })

  it("WorkspacesRepo.ts removeHistory, WorkspacesRepo.ts remove: a workspace's history is removed, a limited number at a time, and then the workspace; no other's is", async (stage) => {
    const acme = await stage.workspace()
    await stage.endpoint(acme)
    await stage.deliveries(acme, "acme", 3)
    await twinOf(stage, acme, "endpoints", "events", "deliveries")
    const workspaces = await stage.repos.get(WorkspacesRepo)
    const remove = () => stage.repos.run(workspaces.removeHistory(acme, 2))
    assert.equal(await remove(), 2)
    assert.deepEqual(await slugs(stage, "deliveries"), ["acme", "twin", "twin", "twin"])
    assert.deepEqual([await remove(), await remove()], [1, 0])
    for (const table of ["deliveries", "events"])
      assert.deepEqual(await slugs(stage, table), ["twin", "twin", "twin"])
    assert.equal((await stage.repos.run(workspaces.remove(acme, TRACE)))?.slug, "acme")
    assert.deepEqual(await stage.rows("select slug from posthorn.workspaces"), [{ slug: "twin" }])
  })

  it("WorkspacesRepo.ts removeHistory: a workspace's deliveries are locked in the order of their ids, as recording locks them", async (stage) => {
    const acme = await stage.workspace()
    await stage.endpoint(acme)
    const workspaces = await stage.repos.get(WorkspacesRepo)
    await removesInOrder(stage, acme, workspaces.removeHistory(acme, 2))
  })
})

export const rows = scenarios
