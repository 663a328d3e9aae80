/** The newest deliveries: of which workspace and endpoint, from which id, and how many. */
import assert from "node:assert/strict"
import { type Stage, writeScenarios } from "./Stage.ts"

interface Asked {
  readonly endpoint?: string | null
  readonly before?: string
  readonly most?: number
}

const ask = async (
  stage: Stage,
  workspace: string,
  { before = "whd_g", endpoint = null, most = 10 }: Asked = {}
) => {
  const select = "select id from posthorn.newest_deliveries($1, $2, $3, $4)"
  return (await stage.rows(select, workspace, endpoint, before, most)).map(({ id }) => id)
}

export const lists = writeScenarios((it) => {
  it("newest_deliveries: those of the workspace, or of the endpoint, below an id, newest first", async (stage) => {
    const [acme, other] = [await stage.workspace("acme"), await stage.workspace("other")]
    const [one, two] = [await stage.endpoint(acme), await stage.endpoint(acme)]
    await stage.endpoint(other)
    await stage.deliveries(other, "other", 1)
    const made = await stage.deliveries(acme, "acme", 2)
    await stage.deliveries(other, "other", 1)
    const newest = made
      .map(({ id }) => id)
      .toSorted()
      .reverse()

    assert.deepEqual(await ask(stage, acme), newest)
    assert.deepEqual(await ask(stage, acme, { before: newest[1]! }), newest.slice(2))
    for (const endpoint of [one, two]) {
      const own = newest.filter((id) => made.some((each) => each.id === id && each.endpoint === endpoint))
      assert.deepEqual(await ask(stage, acme, { endpoint }), own)
      assert.deepEqual(await ask(stage, acme, { endpoint, before: own[0]! }), own.slice(1))
      assert.deepEqual(await ask(stage, acme, { endpoint, most: 1 }), own.slice(0, 1))
      assert.deepEqual(await ask(stage, other, { endpoint }), [])
    }
    assert.deepEqual(await ask(stage, acme, { most: 2 }), newest.slice(0, 2))
    assert.deepEqual(await ask(stage, acme, { before: "whd_0" }), [])
  })
})
