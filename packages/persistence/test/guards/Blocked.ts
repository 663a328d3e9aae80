/** `posthorn.blocked_endpoints`: what recording would have to wait for, found in one call. */
import assert from "node:assert/strict"
import { type Delivery, type Stage, writeScenarios } from "./Stage.ts"

/** Two endpoints with a delivery each. A call that waits fails the test instead of blocking it. */
const scene = async (stage: Stage, failures: readonly [number, number] = [0, 0]) => {
  const acme = await stage.workspace()
  for (const count of failures) await stage.endpoint(acme, { failures: count })
  const [one, two] = await stage.deliveries(acme, "acme")
  const other = await stage.other()
  await other.rows("begin")
  return { one: one!, two: two!, other }
}

const ask = async (stage: Stage, of: ReadonlyArray<readonly [Delivery, status: string]>) => {
  await stage.rows("set statement_timeout = '8s'")
  const found = await stage.rows(
    "select posthorn.blocked_endpoints($1, $2, $3, $4) as endpoint",
    of.map(([{ workspace }]) => workspace),
    of.map(([{ id }]) => id),
    of.map(([{ endpoint }]) => endpoint),
    of.map(([, status]) => status)
  )
  await stage.rows("reset statement_timeout")
  return found.map(({ endpoint }) => endpoint)
}

const scenarios = writeScenarios((it) => {
  it("blocked_endpoints: a locked endpoint is named when its streak may change, and no other is", async (stage) => {
    const { one, other, two } = await scene(stage, [0, 1])
    await other.rows("select from posthorn.endpoints where id = $1 for update", one.endpoint)
    assert.deepEqual(
      await ask(stage, [
        [one, "failed"],
        [two, "failed"]
      ]),
      [one.endpoint]
    )
    assert.deepEqual(
      await ask(stage, [
        [one, "delivered"],
        [two, "delivered"]
      ]),
      []
    )
    await other.rows("select from posthorn.endpoints where id = $1 for update", two.endpoint)
    assert.deepEqual(await ask(stage, [[two, "delivered"]]), [two.endpoint])
  })

  it("blocked_endpoints: the endpoint of a locked delivery is named, unless the delivery is gone", async (stage) => {
    const { one, other, two } = await scene(stage)
    await stage.rows("delete from posthorn.queue")
    await other.rows("select from posthorn.deliveries where id = $1 for update", one.id)
    assert.deepEqual(
      await ask(stage, [
        [one, "delivered"],
        [two, "delivered"]
      ]),
      [one.endpoint]
    )
    assert.deepEqual(await ask(stage, [[{ ...two, id: "whd_gone" }, "delivered"]]), [])
  })

  it("blocked_endpoints: the endpoint of a locked queue row is named, unless the row is gone", async (stage) => {
    const { one, other, two } = await scene(stage)
    await other.rows("select from posthorn.queue where delivery_id = $1 for update", one.id)
    assert.deepEqual(
      await ask(stage, [
        [one, "delivered"],
        [two, "delivered"]
      ]),
      [one.endpoint]
    )
    await stage.rows("delete from posthorn.queue where delivery_id = $1", two.id)
    assert.deepEqual(await ask(stage, [[two, "delivered"]]), [])
  })
})

export const holding = scenarios
