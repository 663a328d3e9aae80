/** The filter of an endpoint, through REST and MCP. Source: spec §6.3. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callToolRaw } from "../McpCalls.ts"
import { entered, TestServer, testServer } from "../TestServer.ts"

const EXACT = '{"b":1.10,"a":{"$in":[12345678901234567890,null]},"__proto__":{"c":true}}'

const filterIn = (text: string) =>
  /"filter":(null|\{.*?\}\}|\{.*?\}),"(?:enabled|disabledReason)/.exec(text)?.[1]

layer(testServer(), { excludeTestServices: true })("an endpoint's filter", (it) => {
  it.effect(
    "§6.3 is shown in the order and with the digits that it was put with, audited, and part of the ETag",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const { url } = yield* TestServer
        const made = yield* ws.call("POST", "/webhooks", {
          text: `{"url":"https://example.com/","eventTypes":["*"],"filter": ${EXACT.replaceAll(":", " : ")}}`
        })
        const path = `/webhooks/${made.body.id}`
        const patch = (filter: string, headers: Record<string, string> = {}) =>
          ws.call("PATCH", path, { text: `{"filter":${filter}}`, headers })
        expect([made.status, filterIn(made.text)]).toEqual([201, EXACT])

        const same = yield* patch(` ${EXACT}\n`)
        const listed = yield* ws.call("GET", "/webhooks")
        const shown = yield* ws.call("GET", path)
        expect([same, listed, shown].map(({ text }) => filterIn(text))).toEqual([EXACT, EXACT, EXACT])
        const tag = made.headers.get("etag")!
        expect([same, shown].map(({ headers }) => headers.get("etag"))).toEqual([tag, tag])

        const digits = yield* patch(EXACT.replace("1.10", "1.1"))
        expect(digits.headers.get("etag")).not.toBe(tag)
        expect((yield* patch("{}", { "if-match": tag })).status).toBe(412)
        const tool = yield* callToolRaw(
          url,
          ws.token,
          "update_webhook_endpoint",
          `{"slug":"${ws.slug}","endpointId":"${made.body.id}","filter":{"n":1.50}}`
        )
        expect(tool.body.result.content[0]!.text).toContain('"filter":{"n":1.50}')
        expect(filterIn((yield* patch("null")).text)).toBe("null")
        expect(filterIn((yield* ws.call("GET", path)).text)).toBe("null")

        const audit = yield* ws.call("GET", "/audit-events")
        const changes = audit.body.items.flatMap(({ action, changes }) =>
          action === "webhook.endpoint_updated" ? [changes] : []
        )
        expect(changes).toEqual([
          { fields: ["filter"], from: { filter: { n: 1.5 } }, to: { filter: null } },
          {
            fields: ["filter"],
            from: { filter: JSON.parse(EXACT.replace("1.10", "1.1")) },
            to: { filter: { n: 1.5 } }
          },
          { fields: ["filter"], from: { filter: JSON.parse(EXACT) }, to: { filter: JSON.parse(EXACT) } }
        ])
      })
  )

  it.effect("§6.3 §7.1 refuses what is no filter, with issues below /filter", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const issuesOf = (filter: string) =>
        Effect.map(
          ws.call("POST", "/webhooks", {
            text: `{"url":"https://example.com/","eventTypes":["*"],"filter":${filter}}`
          }),
          ({ body, status }) => [
            status,
            body._tag,
            (body.issues as ReadonlyArray<{ path: string }>).map(({ path }) => path)
          ]
        )
      expect(yield* issuesOf('{"a":{"$regex":"x"},"b":[1]}')).toEqual([
        400,
        "InvalidRequest",
        ["/filter/a/$regex", "/filter/b"]
      ])
      expect(yield* issuesOf('"a"')).toEqual([400, "InvalidRequest", ["/filter"]])
      expect(yield* issuesOf(`{"a":"${"x".repeat(4096)}"}`)).toEqual([400, "InvalidRequest", ["/filter"]])
      expect(yield* issuesOf('{"a":tru}')).toEqual([400, "InvalidRequest", ["/filter"]])
      expect((yield* ws.call("GET", "/webhooks")).body.items).toEqual([])
    })
  )
})
