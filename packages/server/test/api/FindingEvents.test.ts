/** Events found by their idempotency key, and by a value in their payload. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { atBest } from "@posthorn/testkit/AtBest"
import { Duration, Effect } from "effect"
import { walk } from "../Fixtures.ts"
import { callTool } from "../McpCalls.ts"
import { type Entered, entered, TestServer, testServer } from "../TestServer.ts"

/** Payloads, published as these texts. */
const publish = ({ call }: Entered, payload: string, eventType = "a.b", more = "") =>
  Effect.map(
    call("POST", "/events", { text: `{"eventType":"${eventType}","payload":${payload}${more}}` }),
    ({ body }) => body.id
  )

const find = ({ call }: Entered, query: Readonly<Record<string, string>>, token?: string) =>
  Effect.map(
    call("GET", `/events?${new URLSearchParams(query)}`, token === undefined ? {} : { token }),
    ({ body }) => body.items.map(({ id }) => id)
  )
const at = (payloadPath: string, payloadValue: string) => ({ payloadPath, payloadValue })

layer(testServer(), { excludeTestServices: true })("finding events", (it) => {
  it.effect("§4.5 by the key under which they were published, in this workspace only", () =>
    Effect.gen(function* () {
      const { url } = yield* TestServer
      const [ws, other] = [yield* entered, yield* entered]
      const key = "order 4711/ü"
      const id = yield* publish(ws, "1", "a.b", `,"idempotencyKey":"${key}"`)
      yield* publish(ws, "2")
      yield* publish(other, "1", "a.b", `,"idempotencyKey":"${key}"`)
      const tool = yield* callTool(url, ws.token, "list_events", { idempotencyKey: key })

      expect(yield* find(ws, { idempotencyKey: key })).toEqual([id])
      expect(yield* find(ws, { idempotencyKey: key, eventType: "other" })).toEqual([])
      expect(yield* find(ws, { idempotencyKey: "order 4711" })).toEqual([])
      expect(JSON.stringify(tool)).toContain(id)
    })
  )

  const found: Array<[payload: string, path: string, value: string, isFound: boolean]> = [
    ['{"order":{"id":4711}}', "/order/id", "4711", true],
    ['{"order":{"id":4711.00}}', "/order/id", "4711", true],
    ['{"order":{"id":4.711e3}}', "/order/id", "4711", true],
    ['{"order":{"id":12345678901234567890}}', "/order/id", "12345678901234567891", false],
    ['{"order":{"id":1e999999}}', "/order/id", "1e999999", false],
    ['{"order":{"id":"4711"}}', "/order/id", "4711", false],
    ['{"order":{"id":"4711"}}', "/order/id", '"4711"', true],
    ['{"order":{"id":4711}}', "/order/id", '"4711"', false],
    ['{"order":{"id":"ord_7"}}', "/order/id", "ord_7", true],
    ['{"order":{"id":"\\u006frd_7"}}', "/order/id", "ord_7", true],
    ['{"order":{"id":"ord_7"}}', "/order/id", "ord_", false],
    ['{"order":{"id":"ord_7"}}', "/order", "ord_7", false],
    ['{"paid":true}', "/paid", "true", true],
    ['{"paid":"true"}', "/paid", "true", false],
    ['{"paid":null}', "/paid", "null", true],
    ['{"paid":"null"}', "/paid", "null", false],
    ["{}", "/paid", "null", false],
    ['{"lines":[{"sku":"x"},{"sku":"y"}]}', "/lines/1/sku", "y", true],
    ['{"lines":[1,2]}', "/lines/-1", "2", false],
    ['{"lines":[1,2]}', "/lines/01", "2", false],
    ['{"lines":{"01":2}}', "/lines/01", "2", true],
    ['{"a/b":{"c~d":1}}', "/a~1b/c~0d", "1", true],
    ['{"":{"":1}}', "//", "1", true],
    ['{"a":1,"a":2}', "/a", "2", true],
    ['{"a":1,"a":2}', "/a", "1", false],
    ['{"a":"{\\"b\\":1}"}', "/a", '{"b":1}', true],
    ['{"a":{"b":1}}', "/a", '{"b":1}', false],
    ['{"a":"\\u0000","b":1}', "/b", "1", false],
    ["7", "/a", "7", false]
  ]
  it.effect.each(found)("§4.5 %s at %s is %s: %s", ([payload, path, value, isFound]) =>
    Effect.gen(function* () {
      const ws = yield* entered
      const id = yield* publish(ws, payload)
      expect(yield* find(ws, at(path, value))).toEqual(isFound ? [id] : [])
    })
  )

  it.effect("§4.5 by a value together with type and time, page by page", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const ids: Array<string> = []
      for (let n = 0; n < 12; n++) {
        const id = yield* publish(ws, `{"n":${n % 3}}`, n % 2 === 0 ? "even" : "odd")
        if (n % 3 === 1) ids.unshift(id)
      }
      const { items } = yield* walk(ws.call, "/events?payloadPath=/n&payloadValue=1", 1)
      const even = yield* find(ws, { ...at("/n", "1"), eventType: "even" })

      expect(items.map(({ id }) => id)).toEqual(ids)
      expect(even).toEqual([ids[0], ids[2]].filter((_, n) => n < 2))
      expect(yield* find(ws, { ...at("/n", "1"), until: "2026-01-01T00:00:00Z" })).toEqual([])
    })
  )

  it.effect("§4.5 a page reads a limited number of rows and bytes, and the next one continues there", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const first = yield* publish(ws, '{"wanted":1}')
      const large = JSON.stringify({ text: "x".repeat(1_000_000) })
      yield* sql`select posthorn.publish(${ws.slug}, 'large.one', ${large}::json) from generate_series(1, 20)`
      const beyondBytes = yield* publish(ws, '{"wanted":1}')
      yield* sql`select count(*) from posthorn.publish_events(${ws.slug}, array_fill('small.one'::text, array[10000]),
        array_fill('{}'::json, array[10000]), array_fill(null::text, array[10000]))`
      const path = "/events?payloadPath=/wanted&payloadValue=1"
      const began = performance.now()
      const page = yield* ws.call("GET", path)
      const took = performance.now() - began
      const { items, pages } = yield* walk(ws.call, path, 50)

      expect(page.body).toEqual({ items: [], nextCursor: expect.any(String) })
      expect(took).toBeLessThan(5_000)
      expect(items.map(({ id }) => id)).toEqual([beyondBytes, first])
      expect(pages).toBe(4)
    })
  )

  it.effect("§7.1 the deepest payloads cost no more than flat ones, however the path is spelt", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const sql = yield* SqlClient
      const deep = (open: string, close: string, filling: string) =>
        open.repeat(98) + filling.repeat(1_000_000 / filling.length) + close.repeat(98)
      for (const payload of [
        deep("[", "]", "[],").replace("[],]", "[]]"),
        `${'{"01":'.repeat(98)}"${"x".repeat(1_000_000)}"${"}".repeat(98)}`
      ])
        yield* sql`select posthorn.publish(${ws.slug}, 'deep.one', ${payload}::json) from generate_series(1, 16)`
      for (const path of [
        "/0".repeat(98),
        `${"/0".repeat(97)}/01`,
        "/01".repeat(8),
        `/0${"/01".repeat(8)}`
      ]) {
        const { tookMs } = yield* atBest(
          200,
          Effect.map(Effect.timed(find(ws, at(path, "1"))), ([took]) => ({
            tookMs: Duration.toMillis(took)
          })),
          ({ tookMs }) => tookMs
        )
        expect(tookMs, path).toBeLessThan(200)
      }
    })
  )

  it.effect("§6.1 a filter reveals nothing of payloads that the caller may not see", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      yield* ws.call("POST", "/members", { body: { email: "ada@b.example", name: "Ada", role: "viewer" } })
      const token = yield* ws.tokenWith("webhook:read")
      const query = at("/email", "ada@b.example")

      expect(yield* find(ws, query)).toHaveLength(1)
      expect(yield* find(ws, query, token)).toEqual([])
    })
  )

  const wrong: Array<[query: string, path: string]> = [
    ["payloadPath=/a", "/payloadValue"],
    ["payloadValue=1", "/payloadPath"],
    ["payloadPath=&payloadValue=1", "/payloadPath"],
    ["payloadPath=a&payloadValue=1", "/payloadPath"],
    ["payloadPath=/a~2&payloadValue=1", "/payloadPath"],
    ["payloadPath=/%00&payloadValue=1", "/payloadPath"],
    [`payloadPath=${"/01".repeat(9)}&payloadValue=1`, "/payloadPath"],
    [`payloadPath=/a&payloadValue=${"x".repeat(1001)}`, "/payloadValue"],
    ["idempotencyKey=", "/idempotencyKey"]
  ]
  it.effect.each(wrong)("§7.1 refuses ?%s", ([query, path]) =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { body } = yield* ws.call("GET", `/events?${query}`)
      expect(body).toMatchObject({ _tag: "InvalidRequest", issues: [{ path }] })
    })
  )
})
