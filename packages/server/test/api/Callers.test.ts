/** `getCaller`, and operations for the operator only: the workspaces, and the log of the operator's changes. */
import { expect, layer } from "@effect/vitest"
import { bundles, permissions } from "@posthorn/domain/Permission"
import { Effect } from "effect"
import { walk } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { type Loose, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const operator = { token: OPERATOR_TOKEN }
const jsonOf = (result: { readonly content: ReadonlyArray<{ readonly text: string }> }) =>
  JSON.parse(result.content[0]!.text) as Loose

layer(testServer(), { excludeTestServices: true })("callers", (it) => {
  it.effect("§5.2 a token gets its workspace, permissions and expiry, over REST and MCP alike", () =>
    Effect.gen(function* () {
      const { call, enter, url } = yield* TestServer
      const ws = yield* enter
      const expiresAt = "2999-01-01T00:00:00.000Z"
      const made = yield* ws.call<{ readonly id: string; readonly token: string }>("POST", "/api-tokens", {
        body: { name: "Agent", scopes: ["read", "webhook:list"], expiresAt }
      })

      const rest = yield* call("GET", "/caller", { token: made.body.token })
      const tool = yield* callTool(url, made.body.token, "get_caller")

      const held = new Set<string>([...bundles.read, "webhook:list"])
      expect(rest.status).toBe(200)
      expect(rest.body).toEqual({
        type: "api_token",
        id: made.body.id,
        name: "Agent",
        workspace: { slug: ws.slug, name: expect.stringMatching(/^Workspace /) },
        scopes: ["read", "webhook:list"],
        permissions: permissions.filter((permission) => held.has(permission)),
        expiresAt
      })
      expect(jsonOf(tool)).toEqual(rest.body)
    })
  )

  it.effect(
    "§5.2 the operator learns that it is the operator, and a caller without a token learns nothing",
    () =>
      Effect.gen(function* () {
        const { call, url } = yield* TestServer

        const rest = yield* call("GET", "/caller", operator)
        const tool = yield* callTool(url, OPERATOR_TOKEN, "get_caller")
        const nobody = yield* call("GET", "/caller")

        expect(rest.body).toEqual({
          type: "operator",
          id: "operator",
          name: "operator",
          workspace: null,
          scopes: ["admin"],
          permissions,
          expiresAt: null
        })
        expect(jsonOf(tool)).toEqual(rest.body)
        expect(nobody.status).toBe(401)
      })
  )

  it.effect("§5.2 the operator creates, lists and deletes workspaces with tools, and a token cannot", () =>
    Effect.gen(function* () {
      const { enter, url } = yield* TestServer
      const ws = yield* enter
      const asOperator = (tool: string, args: object) => callTool(url, OPERATOR_TOKEN, tool, args)

      const created = jsonOf(yield* asOperator("create_workspace", { slug: "by-tool", name: "By tool" }))
      const listed = jsonOf(yield* asOperator("list_workspaces", { limit: 200 }))
      const refused = yield* callTool(url, ws.token, "delete_workspace", { slug: ws.slug })
      const removed = yield* asOperator("delete_workspace", { slug: "by-tool" })
      const gone = yield* asOperator("get_workspace_overview", { slug: "by-tool" })

      expect(listed.items).toContainEqual(created)
      expect([refused.isError, jsonOf(refused)]).toMatchObject([
        true,
        { _tag: "Forbidden", permission: "operator" }
      ])
      expect([removed.isError, jsonOf(removed)]).toEqual([undefined, {}])
      expect(jsonOf(gone)._tag).toBe("WorkspaceNotFound")
    })
  )

  it.effect("§5.2 the log of the operator's changes outlives the workspaces", () =>
    Effect.gen(function* () {
      const { call, url } = yield* TestServer
      const { body } = yield* call("POST", "/workspaces", {
        ...operator,
        body: { slug: "brief", name: "Brief" }
      })
      const removed = yield* call("DELETE", "/workspaces/brief", operator)

      const { items, pages } = yield* walk(
        (method, path, options) => call(method, path, { ...operator, ...options }),
        "/audit-events",
        1
      )
      const tool = jsonOf(yield* callTool(url, OPERATOR_TOKEN, "list_operator_audit_events", { limit: 2 }))

      expect(pages).toBe(items.length)
      expect(tool.items).toEqual(items.slice(0, 2))
      expect(items.slice(0, 2)).toEqual(
        ["workspace.deleted", "workspace.created"].map((action) => ({
          id: expect.stringMatching(/^aud_[0-9a-f]{29}$/),
          action,
          actor: { type: "operator", id: "operator", via: "rest", name: null, root: null },
          target: { type: "workspace", id: body.id },
          changes: { fields: action === "workspace.created" ? ["slug", "name"] : [], slug: "brief" },
          traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
          createdAt: expect.stringMatching(/\.\d{3}Z$/)
        }))
      )
      expect(items[0]!.traceId).toBe(removed.headers.get("x-trace-id"))
    })
  )
})
