import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeDelivery, observe, walk } from "../Fixtures.ts"
import { entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const operator = { token: OPERATOR_TOKEN }

layer(testServer(), { excludeTestServices: true })("workspaces", (it) => {
  it.effect("§4.2 creates a workspace for the operator, once per slug", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const body = { slug: "acme", name: "Acme" }

      const created = yield* call("POST", "/workspaces", { ...operator, body })
      const again = yield* call("POST", "/workspaces", { ...operator, body })

      expect(created.status).toBe(201)
      expect(created.body).toEqual({
        id: expect.stringMatching(/^wsp_[0-9a-f]{29}$/),
        slug: "acme",
        name: "Acme",
        limits: { endpoints: null, tokens: null, waiting: null, bytes: null, publishPerMinute: null },
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      })
      expect(again).toMatchObject({ status: 409, body: { _tag: "WorkspaceSlugTaken" } })
    })
  )

  it.effect("§2.7 refuses slugs that do not fit in a path, and names without text", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const slugs = ["", "A", "-a", "a-", "a_b", "a".repeat(49), "a b", "ä"]

      for (const slug of slugs) {
        const answer = yield* call("POST", "/workspaces", { ...operator, body: { slug, name: "x" } })
        expect(answer, slug).toMatchObject({ status: 400, body: { issues: [{ path: "/slug" }] } })
      }
      for (const name of ["", "x".repeat(201), "nul\u0000", "\ud800"]) {
        const answer = yield* call("POST", "/workspaces", { ...operator, body: { slug: "ok", name } })
        expect(answer).toMatchObject({ status: 400, body: { issues: [{ path: "/name" }] } })
      }
    })
  )

  it.effect("§4.2 lists workspaces forward on id, for the operator alone", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const made = [yield* enter, yield* enter, yield* enter]
      const asOperator = ((method, path) => call(method, path, operator)) as typeof call

      const { items } = yield* walk(asOperator, "/workspaces", 2)
      const refused = yield* call("GET", "/workspaces", { token: made[0]!.token })

      const ids = items.map(({ id }) => id)
      expect(ids).toEqual([...ids].sort())
      expect(ids).toEqual(expect.arrayContaining(made.map(({ workspaceId }) => workspaceId)))
      expect(refused).toMatchObject({ status: 403, body: { permission: "operator" } })
    })
  )

  it.effect("§4.2 deletes a workspace with everything in it, and nothing of others", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const sql = yield* SqlClient
      const gone = yield* enter
      const kept = yield* enter
      for (const ws of [gone, kept]) {
        const { deliveryId } = yield* makeDelivery(ws)
        yield* observe(ws, deliveryId, { status: "failed" })
        yield* ws.call("POST", "/members", { body: { email: "a@b.example", name: "A", role: "viewer" } })
      }
      const tables = yield* sql<{ name: string }>`
        select distinct table_name as name from information_schema.columns
        where table_schema = 'posthorn' and column_name = 'workspace_id'`
      const rowsOf = (workspaceId: string) =>
        Effect.forEach(tables, ({ name }) =>
          Effect.map(
            sql<{
              n: number
            }>`select count(*) as n from posthorn.${sql.literal(name)} where workspace_id = ${workspaceId}`,
            ([row]) => row!.n
          )
        ).pipe(Effect.map((counts) => counts.reduce((a, b) => a + b, 0)))
      const before = yield* rowsOf(kept.workspaceId)

      const byOther = yield* call("DELETE", `/workspaces/${gone.slug}`, { token: kept.token })
      const byItself = yield* call("DELETE", `/workspaces/${gone.slug}`, { token: gone.token })
      const deleted = yield* call("DELETE", `/workspaces/${gone.slug}`, operator)
      const again = yield* call("DELETE", `/workspaces/${gone.slug}`, operator)
      const withOldToken = yield* gone.call("GET", "/webhooks")

      expect(byOther).toMatchObject({ status: 404, body: { _tag: "WorkspaceNotFound" } })
      expect(byItself).toMatchObject({ status: 403, body: { permission: "operator" } })
      expect([deleted.status, deleted.text]).toEqual([204, ""])
      expect(again).toMatchObject({ status: 404, body: { _tag: "WorkspaceNotFound" } })
      expect(withOldToken.status).toBe(401)
      expect(yield* rowsOf(gone.workspaceId)).toBe(0)
      expect(before).toBeGreaterThan(8)
      expect(yield* rowsOf(kept.workspaceId)).toBe(before)
    })
  )

  it.effect("§5.1 answers 404 to a token of a workspace that another process has just deleted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ws = yield* entered
      yield* ws.call("GET", "/webhooks")
      yield* sql`delete from posthorn.workspaces where id = ${ws.workspaceId}`

      const answer = yield* ws.call("POST", "/webhooks", {
        body: { url: "https://example.com/", eventTypes: ["*"] }
      })

      expect(answer).toMatchObject({ status: 404, body: { _tag: "WorkspaceNotFound" } })
    })
  )
})
