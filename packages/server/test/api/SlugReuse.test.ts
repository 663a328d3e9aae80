/** A new workspace with the slug of a deleted one, while another process still has the old token in memory. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { anotherServer, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const event = { eventType: "a.b", payload: 1 }

layer(testServer(), { excludeTestServices: true })("a slug that is used again", (it) => {
  it.scoped("§5.1 an old token publishes nothing into the new workspace, through any serve", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const other = yield* anotherServer()
      const { slug, token, workspaceId } = yield* enter
      const path = `/workspaces/${slug}`
      const publish = other.call("POST", `${path}/events`, { token, body: event })
      const batch = other.call("POST", `${path}/events/batch`, { token, body: { events: [event, event] } })
      expect([(yield* publish).status, (yield* batch).status]).toEqual([202, 202])

      const operator = { token: OPERATOR_TOKEN }
      const deleted = yield* call("DELETE", path, operator)
      const made = yield* call("POST", "/workspaces", { ...operator, body: { slug, name: "Successor" } })
      const answers = yield* Effect.all([...Array.from({ length: 20 }, () => publish), batch], {
        concurrency: "unbounded"
      })
      const sql = yield* SqlClient
      const [found] = yield* sql<{ n: number }>`select count(*)::integer as n from posthorn.events
        where workspace_id = ${made.body.id} and event_type = 'a.b'`

      expect([deleted.status, made.status, made.body.id === workspaceId]).toEqual([204, 201, false])
      expect(answers.filter(({ status }) => status !== 401 && status !== 404)).toEqual([])
      expect(found!.n).toBe(0)
    })
  )
})
