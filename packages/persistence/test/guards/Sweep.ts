/** The sweep: finding everything that waits, endpoint by endpoint. */
import assert from "node:assert/strict"
import { type Stage, writeScenarios } from "./Stage.ts"

const heads = (stage: Stage, workspace: string, endpoint: string, most: number) =>
  stage.rows(
    "select endpoint_id as endpoint, is_due from posthorn.first_of_endpoints($1, $2, $3)",
    workspace,
    endpoint,
    most
  )

export const sweeping = writeScenarios((it) => {
  it("first_of_endpoints: each endpoint past the position is returned once, with its first row, a limited number at a time", async (stage) => {
    const acme = await stage.workspace()
    const endpoints = [await stage.endpoint(acme), await stage.endpoint(acme), await stage.endpoint(acme)]
    await stage.deliveries(acme, "acme", 2)
    await stage.rows(
      "update posthorn.queue set due_at = now() + interval '1 hour' where endpoint_id = $1",
      endpoints[2]
    )
    const shown = endpoints.map((endpoint, n) => ({ endpoint, is_due: n !== 2 }))
    assert.deepEqual(await heads(stage, "", "", 10), shown)
    assert.deepEqual(await heads(stage, "", "", 2), shown.slice(0, 2))
    assert.deepEqual(await heads(stage, acme, endpoints[0]!, 10), shown.slice(1))
    assert.deepEqual(await heads(stage, acme, endpoints[2]!, 10), [])
  })
})
