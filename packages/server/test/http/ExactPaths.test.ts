/** Only the exact spelling of a path is served: a path that a proxy's rules could read differently does not exist. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

layer(testServer(), { excludeTestServices: true })("a path", (it) => {
  it.effect("§7.1 is exact: doubled slashes, capitals and escaped letters are 404", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const { slug } = yield* enter
      const ask = (path: string) => call("GET", path, { token: OPERATOR_TOKEN })
      expect((yield* ask("/workspaces")).status).toBe(200)

      const paths = [
        "//workspaces",
        "/workspaces//",
        "/WORKSPACES",
        "/Workspaces",
        "/%77orkspaces",
        "/work%73paces",
        `/workspaces//${slug}/webhooks`,
        `/workspaces/${slug}//webhooks`,
        `/workspaces/${slug}/Webhooks`,
        `/workspaces/${slug}/%77ebhooks`,
        "/health//live",
        "/HEALTH/live",
        "/console/API/x",
        "/MCP"
      ]
      const answers = yield* Effect.forEach(paths, ask)
      expect(answers.map(({ status }, n) => [paths[n], status])).toEqual(paths.map((path) => [path, 404]))
    })
  )
})
