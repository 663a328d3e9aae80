/** Keys and workspaces at a publish: known keys, expired keys, and workspaces that are removed meanwhile. */
import assert from "node:assert/strict"
import { batch, each, IDS } from "./Publishing.ts"
import { type Stage, writeScenarios } from "./Stage.ts"

const refused = (call: Promise<unknown>) =>
  call.then(
    () => null,
    ({ code }: { readonly code: string }) => code
  )

/** Dates all publishes so far two days back. */
const age = (stage: Stage) =>
  stage.rows("update posthorn.idempotency_keys set created_at = now() - interval '2 days'")

export const keys = writeScenarios((it) => {
  it("check_fan_out: an event with a known key does not count in a batch; with a key of another workspace, or of two days ago, it does", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    for (const workspace of [acme, other]) await stage.endpoint(workspace, { types: ["a"] })
    const made = (...asked: ReadonlyArray<string>) =>
      batch(
        stage,
        "acme",
        asked.map((key) => ["a", "1", key] as const),
        1
      )
    await stage.publish("acme", "a", "known")
    for (const key of ["elsewhere", "also"]) await stage.publish("other", "a", key)
    assert.equal((await made("known", "new")).length, 2)
    assert.equal(await refused(made("one", "two")), "PH413")
    assert.equal(await refused(made("elsewhere", "also")), "PH413")
    await age(stage)
    assert.equal(await refused(made("known", "three")), "PH413")
  })

  it("apply_keys: an invalid event is refused under a known key too, and an expired key changes nothing", async (stage) => {
    const acme = await stage.workspace()
    for (let n = 0; n < 2; n++) await stage.endpoint(acme, { types: ["many"] })
    await stage.publish("acme", "many", "old")
    await age(stage)
    await stage.publish("acme", "a", "known")
    const outcomes = await each(
      stage,
      [
        ["acme", "no type", "1", "known"],
        ["acme", "a", `${"[".repeat(101)}${"]".repeat(101)}`, "known"],
        ["acme", "a", "1", null],
        ["acme", "many", "1", "old"]
      ],
      1
    )
    assert.deepEqual(
      outcomes.map(({ what }) => what),
      ["PH400 /eventType", "PH400 /payload", "published", "PH413"]
    )
  })

  it("apply_keys: when a caller's own `lock_timeout` ends, the whole call fails with 55P03", async (stage) => {
    await stage.workspace()
    const other = await stage.other()
    await other.rows("begin")
    await other.rows("select posthorn.publish('acme', 'a', '1', 'held')")
    await stage.rows("set lock_timeout = '100ms'")
    const code = await stage.code(
      "select posthorn.publish_each(array[posthorn.workspace_of('acme')], array['a'], array['1']::json[], array['held'], array[null], null, array['system sql x'], true)"
    )
    await stage.rows("reset lock_timeout")
    assert.equal(code, "55P03")
  })

  it("hold_workspaces, plan: a workspace that is removed meanwhile refuses its own events only, and one without events is not waited for", async (stage) => {
    const going = await stage.workspace("going")
    const [acme, idle] = [await stage.workspace("acme"), await stage.workspace("idle")]
    await stage.workspace("unwanting")
    await stage.endpoint(acme)
    const other = await stage.other()
    const remove = (workspace: string) =>
      other.rows("delete from posthorn.workspaces where id = $1", workspace)
    await other.rows("begin")
    await remove(idle)
    await stage.rows("set lock_timeout = '8s'")
    // Two events, because a single one takes another path.
    const code = await stage.code(
      `select posthorn.publish_each(array_fill(posthorn.workspace_of('unwanting'), array[2]), array['a', 'a'], array['1', '1']::json[],
        array[null, null], array[null, null], null, array_fill('system sql x'::text, array[2]))`
    )
    assert.equal(code, null)
    await stage.rows("reset lock_timeout")
    await other.rows("rollback")
    await other.rows("begin")
    await remove(going)
    const slugs = ["acme", "going", "unwanting"]
    const publishing = stage.rows(
      `select index, code from posthorn.publish_each(${IDS}, $2, $3::text[]::json[], $4, $4, null, array_fill('system sql x'::text, array[3])) order by index`,
      slugs,
      slugs.map(() => "a"),
      slugs.map(() => "1"),
      slugs.map(() => null)
    )
    await stage.waits(other)
    await other.rows("commit")
    assert.deepEqual(
      (await publishing).map(({ code }) => code),
      [null, "PH404", null]
    )
  })
})
