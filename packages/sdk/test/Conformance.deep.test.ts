/**
 * The same vectors and stories for every client, against a real Posthorn: signatures, every operation, pages, errors by tag, null
 * beside what is left out, and publishing once through a network that loses calls and answers.
 */
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, layer, test } from "@effect/vitest"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { Effect, Schema } from "effect"
import { makeWorld, sampleOf, type World } from "../../server/test/Samples.ts"
import { OPERATOR_TOKEN, TestServer, testServer } from "../../server/test/TestServer.ts"
import { type Driver, drivers } from "./Drivers.ts"
import { startUnreliable } from "./Unreliable.ts"

const vectors = JSON.parse(
  readFileSync(new URL("../../signature/test/corpora/signatures.json", import.meta.url), "utf8")
)

const driverOf = (name: string) =>
  Effect.acquireRelease(
    Effect.sync(() => drivers[name]!.start()),
    (driver) => Effect.sync(() => driver.close())
  )

/** As a typed program gives it: numbers and booleans of a query are no text. */
const typed = (text: string) => (/^(?:\d+|true|false)$/.test(text) ? JSON.parse(text) : text)

const paramsOf = (entry: ContractEntry, world: World) => {
  const { body, query = {} } = sampleOf(entry, world)
  const named = [...entry.path.matchAll(/:(\w+)/g)].flatMap(([, name]) =>
    name === "slug" ? [] : [[name!, world[name!] ?? "unknown"]]
  )
  const members = Object.entries((body ?? {}) as Record<string, unknown>)
  return {
    params: {
      ...Object.fromEntries(Object.entries(query).map(([name, value]) => [name, typed(value)])),
      ...Object.fromEntries(members.filter(([, value]) => value !== null)),
      ...Object.fromEntries(named)
    },
    nulls: members.filter(([, value]) => value === null).map(([name]) => name)
  }
}

const verified = (driver: Driver, one: Record<string, string>, secrets: ReadonlyArray<string>) =>
  driver.ask({
    verify: {
      secrets,
      headers: {
        "webhook-id": one.webhook_id!,
        "webhook-timestamp": one.webhook_timestamp!,
        "webhook-signature": one.webhook_signature!
      },
      body: one.body!,
      now: Number(one.verify_at)
    }
  })

for (const [name, { isHere }] of Object.entries(drivers)) {
  if (!isHere && !process.env.CI) {
    test.skip(`the client in ${name} needs Go 1.19, or Debian's python3-httpx`)
    continue
  }

  layer(testServer(), { excludeTestServices: true })(`the client in ${name}`, (it) => {
    it.scoped("verifies what is signed, and refuses the rest", () =>
      Effect.gen(function* () {
        const driver = yield* driverOf(name)
        const accepted = vectors.accept.filter((one: { body?: string }) => one.body !== undefined)

        for (const one of accepted)
          for (const secret of one.secrets)
            expect(
              (yield* Effect.promise(() => verified(driver, one, [secret]))).error,
              one.name
            ).toBeUndefined()
        for (const one of vectors.reject)
          expect(
            (yield* Effect.promise(() => verified(driver, one, [one.secret]))).error?.tag,
            one.why
          ).toMatch(/_/)
        expect([accepted.length > 20, vectors.reject.length]).toEqual([true, 10])
        // Some of Python's frameworks read the byte 0xff of a header as this.
        const { secret, ...one } = vectors.reject[0]
        const odd = yield* Effect.promise(() =>
          verified(driver, { ...one, webhook_signature: "v1,\udcff" }, [secret])
        )
        expect(odd.error?.tag).toMatch(/_/)
      })
    )

    it.scoped("calls every operation, and understands its answer", () =>
      Effect.gen(function* () {
        const { enter, url } = yield* TestServer
        const driver = yield* driverOf(name)
        const failed: Array<unknown> = []
        const entered = Effect.gen(function* () {
          const ws = yield* enter
          return { ws, world: yield* makeWorld(ws) }
        })
        const read = yield* entered

        for (const entry of entries) {
          const { world, ws } = entry.method === "GET" ? read : yield* entered
          const token = entry.rules.permission === "operator" ? OPERATOR_TOKEN : ws.token
          const { error, value } = yield* Effect.promise(() =>
            driver.ask({
              client: { url, token, workspace: ws.slug, retries: 0 },
              call: entry.name,
              ...paramsOf(entry, world)
            })
          )
          const answer = Array.isArray(value) ? { items: value, nextCursor: null } : value
          const isAsDeclared =
            entry.successStatus === 204 ||
            Schema.decodeUnknownEither(entry.successSchema as Schema.Schema<unknown>)(answer)._tag === "Right"
          if (error !== undefined || !isAsDeclared) failed.push([entry.name, error ?? value])
        }

        expect(failed).toEqual([])
      })
    )

    it.scoped("goes through pages, tells errors by their tags, and sends null where it is meant", () =>
      Effect.gen(function* () {
        const { enter, url } = yield* TestServer
        const ws = yield* enter
        const driver = yield* driverOf(name)
        const client = { url, token: ws.token, workspace: ws.slug, retries: 0 }
        const ask = (call: string, params: Record<string, unknown>, nulls: ReadonlyArray<string> = []) =>
          Effect.promise(() => driver.ask({ client, call, params, nulls }))

        const made: Array<string> = []
        for (let count = 0; count < 7; count++) {
          const body = {
            url: `https://example.com/${count}`,
            eventTypes: ["*"],
            description: "Seven",
            metadata: { team: "a" }
          }
          const { value } = yield* ask("createWebhookEndpoint", body)
          made.push((value as { readonly id: string }).id)
        }
        const listed = yield* ask("listWebhookEndpoints", { limit: 3 })
        const missing = yield* ask("getWebhookEndpoint", { endpointId: "whe_0" })
        const invalid = yield* ask("createWebhookEndpoint", { url: "no url", eventTypes: ["*"] })
        const found = yield* ask("getWebhookEndpoint", { endpointId: made[0] })
        const changed = yield* ask("updateWebhookEndpoint", { endpointId: made[0], ifMatch: found.etag }, [
          "description"
        ])
        const emptied = yield* ask("updateWebhookEndpoint", { endpointId: made[1], metadata: {} })
        const stale = yield* ask("updateWebhookEndpoint", {
          endpointId: made[0],
          ifMatch: found.etag,
          enabled: false
        })

        expect((listed.value as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id)).toEqual(made)
        expect(missing.error).toMatchObject({ tag: "WebhookEndpointNotFound", status: 404 })
        expect(invalid.error).toMatchObject({
          tag: "InvalidWebhookUrl",
          status: 400,
          facts: { traceId: expect.any(String) }
        })
        expect(changed.value).toMatchObject({ description: null, metadata: { team: "a" } })
        expect((emptied.value as { readonly metadata: object }).metadata).toEqual({})
        expect(stale.error).toMatchObject({ tag: "PreconditionFailed", status: 412 })
      })
    )

    it.scoped(
      "sends nothing whose path would be another's, and knows an answer that is none of Posthorn's",
      () =>
        Effect.gen(function* () {
          const seen: Array<string> = []
          const page = createServer((request, response) => {
            seen.push(request.url!)
            response.writeHead(200, { "content-type": "text/html" }).end("<h1>Welcome</h1>")
          })
          yield* Effect.acquireRelease(
            Effect.promise(() => new Promise<void>((done) => page.listen(0, "127.0.0.1", done))),
            () => Effect.sync(() => page.close().closeAllConnections())
          )
          const { port } = page.address() as AddressInfo
          const driver = yield* driverOf(name)
          const client = { url: `http://127.0.0.1:${port}`, token: "hunter2", workspace: "acme", retries: 0 }
          const get = (endpointId: string) =>
            Effect.promise(() => driver.ask({ client, call: "getWebhookEndpoint", params: { endpointId } }))

          for (const endpointId of ["", ".", ".."]) expect((yield* get(endpointId)).error?.tag).toBe("other")
          expect(seen).toEqual([])
          expect((yield* get("a/../b")).error).toMatchObject({ tag: "UnknownAnswer", status: 200 })
          expect(seen).toEqual(["/workspaces/acme/webhooks/a%2F..%2Fb"])
        })
    )

    it.scoped("publishes every event once, whatever the network does", () =>
      Effect.gen(function* () {
        const { enter, url } = yield* TestServer
        const ws = yield* enter
        const driver = yield* driverOf(name)
        const network = yield* Effect.acquireRelease(
          Effect.promise(() => startUnreliable(url)),
          ({ close }) => Effect.sync(close)
        )
        const client = { url: network.url, token: ws.token, workspace: ws.slug, retries: 6 }
        const count = 15

        for (let sent = 0; sent < count; sent++) {
          const params =
            sent % 3 === 0
              ? { events: [{ eventType: "batch.sent", payload: sent }] }
              : { eventType: "invoice.paid", payload: sent }
          const call = sent % 3 === 0 ? "publishEvents" : "publishEvent"
          const { error } = yield* Effect.promise(() => driver.ask({ client, call, params }))
          expect(error, `event ${sent}`).toBeUndefined()
        }

        const { body } = yield* ws.call("GET", "/events?limit=200&payload=include")
        const published = body.items.filter(({ eventType }) => /^(?:batch|invoice)/.test(String(eventType)))
        expect(published.map(({ payload }) => Number(payload)).sort((one, other) => one - other)).toEqual(
          Array.from({ length: count }, (_, sent) => sent)
        )
        expect(new Set(network.done).size).toBe(7)
      })
    )
  })
}
