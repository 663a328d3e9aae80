import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { OPERATOR_TOKEN, TestServer, testServer } from "./TestServer.ts"

layer(testServer(), { excludeTestServices: true })("workspaces", (it) => {
  it.effect("decision §4 creates a workspace for the operator", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer

      const created = yield* call("POST", "/workspaces", {
        token: OPERATOR_TOKEN,
        body: { slug: "acme", name: "Acme" }
      })

      expect(created.status).toBe(201)
      expect(created.body).toMatchObject({ slug: "acme", name: "Acme" })
    })
  )
})
