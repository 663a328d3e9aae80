/** Dead-lettering: what it marks and announces. */
import assert from "node:assert/strict"
import { type Stage, writeScenarios } from "./Stage.ts"

const STATUSES = "select status from posthorn.deliveries order by id"

/** Deliveries, the first `dead` of which are dead letters. */
const scene = async (stage: Stage, count: number, dead: number) => {
  const acme = await stage.workspace()
  await stage.endpoint(acme)
  const deliveries = await stage.deliveries(acme, "acme", count)
  for (const { id, workspace } of deliveries.slice(0, dead))
    await stage.rows(
      "insert into posthorn.dead_letters (workspace_id, delivery_id) values ($1, $2)",
      workspace,
      id
    )
  return deliveries
}

/** How many were marked. */
const deadLetter = (stage: Stage, batch: number) =>
  stage.value("select marked from posthorn.dead_letter($1)", batch)

export const burials = writeScenarios((it) => {
  it("dead_letter: each dead letter is marked and announced once, at most `batch` at a time; others are left alone", async (stage) => {
    const [first] = await scene(stage, 3, 2)
    assert.equal(await deadLetter(stage, 1), 1)
    assert.deepEqual(
      (await stage.rows(STATUSES)).map(({ status }) => status),
      ["dead_lettered", "pending", "pending"]
    )
    assert.deepEqual(await stage.rows("select delivery_id from posthorn.notifications"), [
      { delivery_id: first!.id }
    ])
    assert.equal((await stage.rows("select from posthorn.dead_letters")).length, 1)
    assert.equal(await deadLetter(stage, 10), 1)
    assert.equal(await deadLetter(stage, 10), 0)
    assert.equal((await stage.rows("select from posthorn.notifications")).length, 2)
  })

  it("dead_letter: a delivery that was delivered meanwhile stays so, and is not announced as given up", async (stage) => {
    const [one] = await scene(stage, 1, 1)
    await stage.record([stage.observation(one!, { status: "delivered" })])
    assert.deepEqual(await stage.rows("select processed, marked from posthorn.dead_letter(10)"), [
      { processed: 1, marked: 0 }
    ])
    assert.equal(await stage.value(STATUSES), "delivered")
    assert.equal((await stage.rows("select from posthorn.notifications")).length, 0)
    assert.equal((await stage.rows("select from posthorn.dead_letters")).length, 0)
  })

  it("dead_letter: a locked delivery is left for the next call, without waiting", async (stage) => {
    const [held] = await scene(stage, 3, 2)
    const other = await stage.other()
    await other.rows("begin")
    await other.rows("select from posthorn.deliveries where id = $1 for update", held!.id)
    await stage.rows("set statement_timeout = '8s'")
    assert.equal(await deadLetter(stage, 10), 1)
    await stage.rows("reset statement_timeout")
    assert.deepEqual(await stage.rows("select delivery_id from posthorn.dead_letters"), [
      { delivery_id: held!.id }
    ])
  })

  it("dead_letter: a locked dead letter ends the call with 55P03", async (stage) => {
    await scene(stage, 1, 1)
    const other = await stage.other()
    await other.rows("begin")
    await other.rows("select from posthorn.dead_letters for update")
    await stage.rows("set statement_timeout = '8s'")
    const code = await stage.code("select posthorn.dead_letter(1)")
    await stage.rows("reset statement_timeout")
    assert.equal(code, "55P03")
  })

  it("dead_letter: a dead letter that was announced before is not announced again", async (stage) => {
    const [one] = await scene(stage, 1, 1)
    await stage.rows(
      `insert into posthorn.notifications (workspace_id, kind, message, delivery_id)
         values ($1, 'delivery_dead_lettered', 'x', $2)`,
      one!.workspace,
      one!.id
    )
    const warned: Array<string> = []
    const warn = ({ message }: { readonly message: string | undefined }) => warned.push(message ?? "")
    stage.client.on("notice", warn)
    await deadLetter(stage, 1)
    stage.client.off("notice", warn)
    assert.deepEqual(warned, [])
    assert.equal((await stage.rows("select from posthorn.notifications")).length, 1)
  })

  it("dead_letter: when a notification cannot be written, everything else is", async (stage) => {
    await scene(stage, 1, 1)
    await stage.rows("begin")
    await stage.rows("alter table posthorn.notifications add constraint broken check (false)")
    assert.equal(await deadLetter(stage, 1), 1)
    assert.equal(await stage.value(STATUSES), "dead_lettered")
    await stage.rows("rollback")
  })

  it("dead_letter: each reason has a message of its own", async (stage) => {
    await scene(stage, 3, 3)
    const reasons = ["retries_spent", "never_sent", "no_outcome"]
    await stage.rows(
      `update posthorn.dead_letters l set reason = r.reason from (select delivery_id, row_number() over (order by delivery_id) as n
         from posthorn.dead_letters) o join unnest($1::text[]) with ordinality as r(reason, n) using (n) where o.delivery_id = l.delivery_id`,
      reasons
    )
    await deadLetter(stage, 10)
    const said = await stage.rows("select message from posthorn.notifications order by delivery_id")
    const words = [/attempts/, /never sent/, /may have received/]
    for (const [n, { message }] of said.entries()) assert.match(message as string, words[n]!)
    assert.deepEqual(
      (await stage.rows("select dead_letter_reason as reason from posthorn.deliveries order by id")).map(
        ({ reason }) => reason
      ),
      reasons
    )
  })
})
