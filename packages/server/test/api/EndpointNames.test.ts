/** What a platform can store about an endpoint: `externalId` and `metadata`. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { entered, testServer } from "../TestServer.ts"

const asked = (more: object) => ({ body: { url: "https://example.com/in", eventTypes: ["a.b"], ...more } })

layer(testServer(), { excludeTestServices: true })("external ids and metadata", (it) => {
  it.effect("§2.1 an external id identifies an endpoint in its own workspace only", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      const metadata = { plan: "gold", región: "" }
      const made = yield* ws.call("POST", "/webhooks", asked({ externalId: "shop:7", metadata }))
      yield* ws.call("POST", "/webhooks", asked({}))
      const others = yield* other.call("POST", "/webhooks", asked({ externalId: "shop:7" }))

      expect([made.status, others.status]).toEqual([201, 201])
      expect(made.body).toMatchObject({ externalId: "shop:7", metadata })
      const found = yield* ws.call("GET", "/webhooks?externalId=shop:7")
      expect(found.body).toEqual({ items: [made.body], nextCursor: null })
      expect((yield* ws.call("GET", "/webhooks?externalId=shop")).body.items).toEqual([])
      expect((yield* ws.call("GET", "/webhooks?externalId=%00")).status).toBe(400)
    })
  )

  it.effect("§2.1 an external id is unique in a workspace, also between two calls at once", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const both = yield* Effect.all(
        Array.from({ length: 4 }, () => ws.call("POST", "/webhooks", asked({ externalId: "one" }))),
        { concurrency: 4 }
      )
      const free = yield* ws.call("POST", "/webhooks", asked({}))
      const path = `/webhooks/${free.body.id}`
      const taken = yield* ws.call("PATCH", path, { body: { externalId: "one", description: "New" } })
      const { body: after } = yield* ws.call("GET", path)

      expect(both.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
      expect(taken).toMatchObject({ status: 409, body: { _tag: "ExternalIdTaken" } })
      expect(after).toMatchObject({ externalId: null, description: null })
    })
  )

  it.effect("§2.1 endpoints are found by a part of URL, description or external id, and by their state", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      const sql = yield* SqlClient
      const make = (body: object) =>
        Effect.map(ws.call("POST", "/webhooks", asked(body)), ({ body }) => body.id)
      const byUrl = yield* make({ url: "https://example.com/SHOP_7%25" })
      const byWord = yield* make({ description: "The Shöp of 7 %" })
      const byName = yield* make({ externalId: "Shop_7", enabled: false })
      const failing = yield* make({})
      yield* sql`update posthorn.endpoints set consecutive_failures = 3 where id in ${sql.in([failing, byName])}`
      yield* other.call("POST", "/webhooks", asked({ description: "shop_7" }))
      const found = (query: Record<string, string>) =>
        Effect.map(
          ws.call("GET", `/webhooks?${new URLSearchParams(query)}`),
          ({ body, status }) => body.items?.map(({ id }: { id: string }) => id) ?? status
        )

      expect(yield* found({ search: "shop_7" })).toEqual([byUrl, byName])
      expect(yield* found({ search: "sHöP" })).toEqual([byWord])
      expect(yield* found({ search: "%" })).toEqual([byUrl, byWord])
      expect(yield* found({ state: "enabled" })).toEqual([byUrl, byWord, failing])
      expect(yield* found({ state: "disabled" })).toEqual([byName])
      expect(yield* found({ state: "failing" })).toEqual([failing])
      expect(yield* found({ search: "shop", state: "enabled", order: "recent" })).toEqual([byUrl])
      const wrong = [
        { search: "" },
        { search: "x".repeat(101) },
        { search: "\0" },
        { state: "off" },
        { order: "url" }
      ]
      for (const query of wrong) expect([query, yield* found(query as never)]).toEqual([query, 400])
      const newest: Array<string> = []
      for (let cursor = ""; ; ) {
        const { body } = yield* ws.call("GET", `/webhooks?order=recent&limit=3&cursor=${cursor}`)
        newest.push(...body.items.map(({ id }: { id: string }) => id))
        if (body.nextCursor === null) break
        cursor = body.nextCursor
      }
      expect(newest).toEqual([failing, byName, byWord, byUrl])
    })
  )

  it.effect("§2.1 both are changed as a whole, with the tag, and audited with old and new values", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const made = yield* ws.call(
        "POST",
        "/webhooks",
        asked({ externalId: "a", metadata: { b: "1", a: "2" } })
      )
      const path = `/webhooks/${made.body.id}`
      const tagOf = (answer: { readonly headers: Headers }) => answer.headers.get("etag")
      const patch = (body: object) => ws.call("PATCH", path, { body })
      const same = yield* patch({ metadata: { a: "2", b: "1" } })
      const changed = yield* patch({ metadata: { c: "3" } })
      const renamed = yield* patch({ externalId: null })

      expect(tagOf(same)).toBe(tagOf(made))
      expect(same.body.updatedAt).toBe((yield* ws.call("GET", path)).body.createdAt)
      expect(new Set([same, changed, renamed].map(tagOf)).size).toBe(3)
      expect(renamed.body).toMatchObject({ externalId: null, metadata: { c: "3" } })
      const { body: log } = yield* ws.call("GET", "/audit-events?limit=3")
      expect(log.items.map(({ changes }) => changes)).toEqual([
        { fields: ["externalId"], from: { externalId: "a" }, to: { externalId: null } },
        { fields: ["metadata"], from: { metadata: { a: "2", b: "1" } }, to: { metadata: { c: "3" } } },
        expect.objectContaining({ to: { url: "https://example.com/in", externalId: "a" } })
      ])
    })
  )

  const long = (length: number) => "x".repeat(length)
  const members = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [`n${n}`, ""]))
  const wrong: Array<[object, string]> = [
    [{ externalId: "" }, "/externalId"],
    [{ externalId: long(129) }, "/externalId"],
    [{ externalId: "a b" }, "/externalId"],
    [{ externalId: "ü" }, "/externalId"],
    [{ externalId: "a\n" }, "/externalId"],
    [{ metadata: null }, "/metadata"],
    [{ metadata: [] }, "/metadata"],
    [{ metadata: members(21) }, "/metadata"],
    [{ metadata: { "": "x" } }, "/metadata"],
    [{ metadata: { [long(65)]: "x" } }, "/metadata"],
    [{ metadata: { a: 1 } }, "/metadata/a"],
    [{ metadata: { a: long(501) } }, "/metadata/a"],
    [{ metadata: { a: "\0" } }, "/metadata/a"],
    [{ metadata: { "\ud800": "" } }, "/metadata"],
    [JSON.parse('{"metadata":{"__proto__":"x"}}'), "/metadata"]
  ]
  it.effect.each(wrong)("§7.1 refuses %j, and points at the fault", ([body, path]) =>
    Effect.gen(function* () {
      const ws = yield* entered
      const refused = yield* ws.call("POST", "/webhooks", asked(body))
      expect(refused).toMatchObject({ status: 400, body: { _tag: "InvalidRequest" } })
      expect(refused.body.issues).toContainEqual(
        expect.objectContaining({ path: expect.stringContaining(path) })
      )
    })
  )

  it.effect("§7.1 accepts values at the limits", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const metadata = { ...members(19), [long(64)]: long(500) }
      const made = yield* ws.call("POST", "/webhooks", asked({ externalId: long(128), metadata }))
      expect(made).toMatchObject({ status: 201, body: { metadata } })
    })
  )
})
