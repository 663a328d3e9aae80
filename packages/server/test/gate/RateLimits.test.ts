import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callTool } from "../McpCalls.ts"
import { type Answer, entered, type Loose, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

const quota = { limit: 5, windowSeconds: 600 }

const limited = testServer({
  quotas: { rest_read: quota, rest_write: { limit: 40, windowSeconds: 600 }, auth_failure: quota }
})

const policies = ({ headers }: Answer<Loose>) => ({
  policy: headers.get("ratelimit-policy"),
  left: headers.get("ratelimit")?.replace(/;t=\d+$/, ""),
  retry: headers.get("retry-after")
})

layer(limited, { excludeTestServices: true })("rate limits", (it) => {
  it.effect("§8 of more concurrent calls than the quota exactly the surplus is refused, per token", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const other = yield* ws.tokenWith("read")

      const answers = yield* Effect.all(
        Array.from({ length: 12 }, () => ws.call("GET", "/overview")),
        {
          concurrency: "unbounded"
        }
      )
      const neighbour = yield* ws.call("GET", "/overview", { token: other })

      const refused = answers.filter(({ status }) => status === 429)
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
      expect(refused).toHaveLength(7)
      expect(refused[0]!.body).toMatchObject({ _tag: "RateLimited", bucket: "rest_read", status: 429 })
      expect(refused[0]!.body.retryAfterSeconds).toBe(Number(refused[0]!.headers.get("retry-after")))
      expect(neighbour.status).toBe(200)
    })
  )

  it.effect("§8.1 every answer that took from a bucket has its headers, whatever its status", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const token = yield* ws.tokenWith("webhook:read")
      const read = (path: string) => ws.call("GET", path, { token })

      const ok = yield* read("/webhooks")
      const forbidden = yield* read("/overview")
      const missing = yield* read("/webhooks/whe_0")
      const invalid = yield* read("/webhooks/deliveries?status=none")
      const last = yield* read("/webhooks")
      const refused = yield* read("/webhooks")

      expect([ok, forbidden, missing, invalid, last, refused].map(({ status }) => status)).toEqual([
        200, 403, 404, 400, 200, 429
      ])
      expect([ok, forbidden, missing, invalid, last, refused].map(policies)).toEqual(
        [4, 3, 2, 1, 0, 0].map((left, index) => ({
          policy: '"rest_read";q=5;w=600',
          left: `"rest_read";r=${left}`,
          retry: index === 5 ? expect.stringMatching(/^\d+$/) : null
        }))
      )
    })
  )

  it.effect("§5.1 the limit is checked before the permission and the body, and after the workspace", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const token = yield* ws.tokenWith("webhook:read")
      for (let call = 0; call < 5; call++) yield* ws.call("GET", "/webhooks", { token })

      const nowhere = yield* ws.call("GET", "/../nowhere/overview", { token })
      const forbidden = yield* ws.call("GET", "/overview", { token })
      const elsewhere = yield* Effect.flatMap(TestServer, ({ call }) =>
        call("GET", "/workspaces/nowhere/overview", { token })
      )

      expect(forbidden.body._tag).toBe("RateLimited")
      expect(elsewhere.body._tag).toBe("WorkspaceNotFound")
      expect(elsewhere.headers.get("ratelimit")).toBe(null)
      expect(nowhere.status).toBe(404)
    })
  )

  it.effect("§8.1 all tokens of a workspace have five times the quota; headers show the tighter one", () =>
    Effect.gen(function* () {
      const { call, enter, url } = yield* TestServer
      const ws = yield* enter
      const tokens = yield* Effect.replicateEffect(ws.tokenWith("read"), 7)
      const read = (token: string) => ws.call("GET", "/overview", { token })

      const spent = yield* Effect.forEach(tokens.slice(0, 4), (token) =>
        Effect.replicateEffect(read(token), 6)
      )
      const last = yield* Effect.forEach(tokens.slice(4), read)
      const over = yield* Effect.replicateEffect(read(tokens[6]!), 3)
      const operator = yield* call("GET", `/workspaces/${ws.slug}/overview`, { token: OPERATOR_TOKEN })
      const tools = yield* callTool(url, tokens[0]!, "get_workspace_overview")

      // Of six calls of a token its own bucket refuses one, which does not count for the workspace.
      expect(spent.map((answers) => answers.map(({ status }) => status))).toEqual(
        Array(4).fill([200, 200, 200, 200, 200, 429])
      )
      expect(last.map(policies)).toEqual([
        { policy: '"rest_read";q=5;w=600', left: '"rest_read";r=4', retry: null },
        { policy: '"rest_read";q=25;w=600', left: '"rest_read";r=3', retry: null },
        { policy: '"rest_read";q=25;w=600', left: '"rest_read";r=2', retry: null }
      ])
      expect(over.map(({ status }) => status)).toEqual([200, 200, 429])
      expect(policies(over[2]!)).toEqual({
        policy: '"rest_read";q=25;w=600',
        left: '"rest_read";r=0',
        retry: expect.stringMatching(/^\d+$/)
      })
      expect(operator.status).toBe(200)
      expect(tools.isError).toBeUndefined()
    })
  )

  it.effect("§5.1 wrong tokens count against the address, and valid ones still work", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const guess = call("GET", "/workspaces", { token: "guess" })

      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => guess),
        { concurrency: "unbounded" }
      )
      const known = yield* call("GET", "/workspaces", { token: OPERATOR_TOKEN })

      expect(answers.filter(({ status }) => status === 401)).toHaveLength(5)
      expect(
        answers.filter(({ body }) => body._tag === "RateLimited" && body.bucket === "auth_failure")
      ).toHaveLength(3)
      expect(
        answers.every(({ headers }) => headers.get("ratelimit-policy") === '"auth_failure";q=5;w=600')
      ).toBe(true)
      expect(known.status).toBe(200)
    })
  )
})
