/** The sweep: finding everything that waits, endpoint by endpoint. */
import assert from "node:assert/strict"
import { type Stage, writeScenarios } from "./Stage.ts"

const heads = (stage: Stage, workspace: string, endpoint: string, most: number) =>
  stage.rows(
    "select endpoint_id as endpoint, is_ready, is_last from posthorn.first_of_endpoints($1, $2, $3)",
    workspace,
    endpoint,
    most
  )

export const sweeping = writeScenarios((it) => {
  it("first_of_endpoints: of each enabled endpoint past the position its first row is returned if it is due, and the last one of a limited number", async (stage) => {
    const acme = await stage.workspace()
    const endpoints = [await stage.endpoint(acme), await stage.endpoint(acme), await stage.endpoint(acme)]
    await stage.deliveries(acme, "acme", 2)
    await stage.rows(
      "update posthorn.queue set due_at = now() + interval '1 hour' where endpoint_id = $1",
      endpoints[2]
    )
    const [one, two, later] = endpoints.map((endpoint) => ({ endpoint, is_ready: true, is_last: false }))
    const last = <A>(head: A) => ({ ...head, is_last: true })
    const unready = <A>(head: A) => ({ ...head, is_ready: false })
    assert.deepEqual(await heads(stage, "", "", 10), [one, two])
    assert.deepEqual(await heads(stage, "", "", 2), [one, last(two)])
    assert.deepEqual(await heads(stage, "", "", 3), [one, two, last(unready(later))])
    assert.deepEqual(await heads(stage, acme, endpoints[0]!, 10), [two])
    assert.deepEqual(await heads(stage, acme, endpoints[2]!, 10), [])
    await stage.rows(
      "update posthorn.endpoints set enabled = false, disabled_reason = 'manual' where id = $1",
      endpoints[0]
    )
    assert.deepEqual(await heads(stage, "", "", 10), [two])
    assert.deepEqual(await heads(stage, "", "", 1), [last(unready(one))])
  })
})
