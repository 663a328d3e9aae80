import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "@effect/platform"
import { expect, it, layer } from "@effect/vitest"
import { Api } from "@posthorn/api-contract/Api"
import { Effect, Fiber, Layer, Redacted, Stream, TestClock } from "effect"
import { build } from "esbuild"
import { makeDelivery, publish } from "../../server/test/Fixtures.ts"
import { TestServer, testServer } from "../../server/test/TestServer.ts"
import { items } from "../src/Pagination.ts"
import { make } from "../src/PosthornClient.ts"

/** Answers with these statuses in turn, then with an empty page; counts the requests. */
const answering = (...statuses: ReadonlyArray<readonly [status: number, retryAfter: string]>) => {
  const seen = { calls: 0, authorization: "", url: "" }
  const client = HttpClient.make((request) =>
    Effect.sync(() => {
      const next = statuses[seen.calls++]
      seen.authorization = String(request.headers.authorization)
      seen.url = request.url
      const problem = (status: number) => ({
        _tag: status === 429 ? "RateLimited" : "ServiceUnavailable",
        type: "x",
        title: "x",
        status,
        detail: "x",
        traceId: "x",
        bucket: "rest_read",
        retryAfterSeconds: 1
      })
      const response =
        next === undefined
          ? Response.json({ items: [], nextCursor: null })
          : Response.json(problem(next[0]), {
              status: next[0],
              headers: { "retry-after": next[1], "content-type": "application/problem+json" }
            })
      return HttpClientResponse.fromWeb(request, response)
    })
  )
  return { seen, layer: Layer.succeed(HttpClient.HttpClient, client) }
}

const list = (options: { readonly retries?: number } = {}) =>
  Effect.flatMap(
    make({ baseUrl: "http://posthorn.test", token: Redacted.make("phk_x"), ...options }),
    (client) => client.endpoints.listWebhookEndpoints({ path: { slug: "acme" }, urlParams: {} })
  )

it.effect("§8 a call refused with 429 or 503 is repeated after Retry-After, not before", () =>
  Effect.gen(function* () {
    const { layer, seen } = answering([429, "2"], [503, "3"])
    const fiber = yield* Effect.fork(Effect.provide(list(), layer))

    yield* TestClock.adjust("1999 millis")
    const early = seen.calls
    yield* TestClock.adjust("1 millis")
    const second = seen.calls
    yield* TestClock.adjust("3 seconds")
    const page = yield* Fiber.join(fiber)

    expect([early, second, seen.calls]).toEqual([1, 2, 3])
    expect(page).toEqual({ items: [], nextCursor: null })
    expect(seen.authorization).toBe("Bearer phk_x")
  })
)

it.effect(
  "§8 gives up after the last try, and where the wait would be too long: the caller gets the refusal",
  () =>
    Effect.gen(function* () {
      const often = answering([429, "0"], [429, "0"], [429, "0"])
      const long = answering([503, "3600"])

      const tired = yield* Effect.flip(Effect.provide(list({ retries: 2 }), often.layer))
      const atOnce = yield* Effect.flip(Effect.provide(list(), long.layer))

      expect([tired._tag, often.seen.calls]).toEqual(["RateLimited", 3])
      expect([atOnce._tag, long.seen.calls]).toEqual(["ServiceUnavailable", 1])
    })
)

it.effect("§9 no id or slug leads to another path than the operation's own", () =>
  Effect.gen(function* () {
    const urlOf = (slug: string, endpointId: string) =>
      Effect.gen(function* () {
        const { layer, seen } = answering()
        const client = make({ baseUrl: "http://posthorn.test", token: Redacted.make("phk_x") })
        const call = Effect.flatMap(client, ({ endpoints }) =>
          endpoints.getWebhookEndpoint({ path: { slug, endpointId } })
        )
        yield* Effect.ignore(Effect.provide(call, layer))
        return seen.url
      })

    for (const odd of ["../members", "..", ".", "a/b", "a?b", "a#b", "%2e%2e", "", " "])
      expect(yield* urlOf(odd, odd), odd).toBe("http://posthorn.test/workspaces/-/webhooks/-")
    expect(yield* urlOf("acme-2", "whe_0a")).toBe("http://posthorn.test/workspaces/acme-2/webhooks/whe_0a")
  })
)

it("§9 its README names every group of calls", () => {
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8")
  const [, listed = ""] = /\*\*Groups\*\*: ([^;]*);/.exec(readme) ?? []

  expect(Array.from(listed.matchAll(/`(\w+)`/g), ([, name]) => name)).toEqual(Object.keys(Api.groups).sort())
})

it("§9 the client needs no Node built-in", async () => {
  const entryPoints = ["PosthornClient.ts", "Pagination.ts"].map((file) =>
    fileURLToPath(new URL(`../src/${file}`, import.meta.url))
  )

  const bundled = await build({
    entryPoints,
    bundle: true,
    write: false,
    outdir: "x",
    platform: "browser",
    format: "esm",
    logLevel: "silent"
  })

  expect(bundled.errors).toEqual([])
  expect(bundled.outputFiles.every(({ text }) => !/from "node:|require\("node:/.test(text))).toBe(true)
})

layer(testServer(), { excludeTestServices: true })("the client", (it) => {
  it.effect("§9 leaves out members for which the server has a default", () =>
    Effect.gen(function* () {
      const { enter, url } = yield* TestServer
      const ws = yield* enter
      const client = yield* make({ baseUrl: url, token: Redacted.make(ws.token) })
      const path = { slug: ws.slug }

      const endpoint = yield* client.endpoints.createWebhookEndpoint({
        path,
        headers: {},
        payload: { url: "https://example.com/hooks", eventTypes: ["*"] }
      })
      const listed = yield* client.endpoints.listWebhookEndpoints({ path, urlParams: {} })
      const stats = yield* client.endpoints.getEndpointStats({
        path: { ...path, endpointId: endpoint.id },
        urlParams: {}
      })

      expect(endpoint.enabled).toBe(true)
      expect(listed.items.map(({ id }) => id)).toEqual([endpoint.id])
      expect(stats.hours.length).toBe(24)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})

layer(testServer(), { excludeTestServices: true })("a list", (it) => {
  it.effect("§2.5 is a stream of all its items, read page by page", () =>
    Effect.gen(function* () {
      const { enter, url } = yield* TestServer
      const ws = yield* enter
      const { endpointId } = yield* makeDelivery(ws, "invoice.paid")
      for (let event = 0; event < 6; event++) yield* publish(ws, "invoice.paid", { event })
      const client = yield* make({ baseUrl: url, token: Redacted.make(ws.token) })
      let pages = 0

      const all = yield* items((cursor) => {
        pages++
        const urlParams = cursor === undefined ? { limit: 3 } : { limit: 3, cursor }
        return client.deliveries.listWebhookDeliveries({ path: { slug: ws.slug, endpointId }, urlParams })
      }).pipe(Stream.runCollect)

      expect(new Set([...all].map(({ id }) => id)).size).toBe(7)
      expect(pages).toBe(3)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})
