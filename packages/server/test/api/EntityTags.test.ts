/** `ETag` and `If-Match` on endpoints: which version a tag names, and that no caller overwrites a change it has not seen. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeDelivery, makeEndpoint, observe, unknown } from "../Fixtures.ts"
import { TestServer, testServer } from "../TestServer.ts"

const inNewWorkspace = Effect.flatMap(TestServer, ({ enter }) => enter)
const STRONG = /^"[\x21\x23-\x7e]+"$/

layer(testServer(), { excludeTestServices: true })("entity tags", (it) => {
  it.effect("§4.3 create, get and update return the same strong tag until a setting changes", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const body = { url: "https://example.com/a", eventTypes: ["a"], description: "One" }
      const created = yield* ws.call("POST", "/webhooks", { body })
      const path = `/webhooks/${created.body.id}`
      const tag = created.headers.get("etag")!
      const after = (change: object) =>
        Effect.map(ws.call("PATCH", path, { body: change }), ({ headers }) => headers.get("etag")!)

      expect(tag).toMatch(STRONG)
      expect((yield* ws.call("GET", path)).headers.get("etag")).toBe(tag)
      expect(yield* after({})).toBe(tag)
      yield* ws.call("POST", `${path}/rotate-secret`)
      expect((yield* ws.call("GET", path)).headers.get("etag")).toBe(tag)
      const tags = [
        tag,
        yield* after({ url: "https://example.com/b" }),
        yield* after({ eventTypes: ["a", "b"] }),
        yield* after({ description: null }),
        yield* after({ enabled: false })
      ]
      expect(new Set(tags).size).toBe(tags.length)
      const back = yield* after({ ...body, enabled: true })
      expect(back).toBe(tag)
      expect((yield* ws.call("GET", "/webhooks")).headers.get("etag")).toBeNull()
    })
  )

  it.effect("§4.3 counters do not change the tag", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const { deliveryId, endpointId } = yield* makeDelivery(ws)
      const read = ws.call("GET", `/webhooks/${endpointId}`)
      const before = yield* read

      yield* observe(ws, deliveryId, { status: "failed" })

      const now = yield* read
      expect(now.body.consecutiveFailures).toBe(1)
      expect(now.headers.get("etag")).toBe(before.headers.get("etag"))
    })
  )

  it.effect("§4.3 an If-Match that does not match changes nothing, on PATCH and on DELETE", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const { deliveryId, endpointId } = yield* makeDelivery(ws)
      const path = `/webhooks/${endpointId}`
      const before = yield* ws.call("GET", path)
      const tag = before.headers.get("etag")!
      const body = { description: "Changed" }

      for (const wrong of [
        '"other"',
        `W/${tag}`,
        `${tag.slice(0, -1)}`,
        tag.replaceAll('"', ""),
        "",
        '"a", "b"'
      ]) {
        const headers = { "if-match": wrong }
        for (const answer of [
          yield* ws.call("PATCH", path, { body, headers }),
          yield* ws.call("DELETE", path, { headers })
        ]) {
          expect([wrong, answer.status, answer.body._tag]).toEqual([wrong, 412, "PreconditionFailed"])
        }
      }
      expect((yield* ws.call("GET", path)).text).toBe(before.text)
      expect((yield* ws.call("GET", `/webhooks/deliveries/${deliveryId}`)).status).toBe(200)
      const audit = yield* ws.call("GET", `/audit-events`)
      expect(audit.text).not.toContain("webhook.endpoint_updated")
    })
  )

  it.effect("§4.3 one matching tag of several, or *, allows the change", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const path = `/webhooks/${yield* makeEndpoint(ws)}`
      const tag = (yield* ws.call("GET", path)).headers.get("etag")!
      const send = (method: string, ifMatch: string, body?: object) =>
        ws.call(method, path, { ...(body && { body }), headers: { "if-match": ifMatch } })

      const first = yield* send("PATCH", `"other", ${tag}`, { description: "First" })
      const stale = yield* send("PATCH", tag, { description: "Second" })
      const any = yield* send("PATCH", "*", { description: "Third" })
      const removed = yield* send("DELETE", any.headers.get("etag")!)

      expect([first, stale, any, removed].map(({ status }) => status)).toEqual([200, 412, 200, 204])
      expect(any.body.description).toBe("Third")
    })
  )

  it.effect("§4.3 of two callers that change what both have read, one is refused", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const path = `/webhooks/${yield* makeEndpoint(ws)}`
      const headers = { "if-match": (yield* ws.call("GET", path)).headers.get("etag")! }

      const answers = yield* Effect.forEach(
        ["One", "Two", "Three", "Four"],
        (description) => ws.call("PATCH", path, { body: { description }, headers }),
        { concurrency: "unbounded" }
      )

      expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412])
    })
  )

  it.effect("§4.3 404 comes before 412, and an invalid body before both", () =>
    Effect.gen(function* () {
      const ws = yield* inNewWorkspace
      const headers = { "if-match": '"other"' }
      const nobodys = `/webhooks/${unknown("whe_")}`

      const gone = yield* ws.call("DELETE", nobodys, { headers })
      const patched = yield* ws.call("PATCH", nobodys, { headers, body: {} })
      const invalid = yield* ws.call("PATCH", nobodys, { headers, body: { enabled: 1 } })

      expect([gone, patched, invalid].map(({ status }) => status)).toEqual([404, 404, 400])
    })
  )
})
