/**
 * Whatever is sent, the answer is below 500 and has the common shape. Input is random, or nearly right.
 */
import { expect, layer } from "@effect/vitest"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { Effect, FastCheck as fc, Option, Runtime } from "effect"
import { makeDelivery } from "../Fixtures.ts"
import { type Answer, type Entered, TestServer, testServer } from "../TestServer.ts"

/** A cursor that no page contained. */
const forged = (position: object) => btoa(JSON.stringify(position))

const text = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.string(),
  fc.constantFrom("", "\0", "%00", "'", "\\", "%", "_", "-1", "1e9", "NaN")
)

/** Times, including those on which PostgreSQL and JavaScript disagree. */
const position = fc.record(
  {
    at: fc.oneof(
      fc.constantFrom(
        "infinity",
        "0000-01-01T00:00:00.000Z",
        "2026-02-30T00:00:00.000Z",
        "+300000-01-01T00:00:00.000Z",
        "9999-12-31T23:59:59.999Z"
      ),
      text
    ),
    id: text,
    ordinal: fc.oneof(fc.integer(), fc.double(), text)
  },
  { requiredKeys: [] }
)

const cursor = fc.oneof(
  text,
  fc.base64String(),
  position.map((each) => Buffer.from(JSON.stringify(each)).toString("base64")),
  fc.jsonValue().map((each) => Buffer.from(JSON.stringify(each)).toString("base64"))
)

const limit = fc.oneof(text, fc.bigInt().map(String), fc.double().map(String))

const check = (answer: Answer<unknown>, what: string) => {
  const { headers, status } = answer
  expect(status, what).toBeLessThan(500)
  expect(headers.get("x-trace-id"), what).toMatch(/^[0-9a-f]{32}$/)
  if (status >= 400) {
    expect(headers.get("content-type"), what).toBe("application/problem+json")
    expect(answer.body, what).toMatchObject({
      _tag: expect.any(String),
      status,
      title: expect.any(String),
      detail: expect.any(String)
    })
  }
}

const named = (name: string) => entries.find((entry) => entry.name === name)!

const lists = entries.filter(
  ({ method, name, rules }) => method === "GET" && /^list/.test(name) && rules.permission !== "operator"
)
const withBodies = entries.filter(
  ({ bodySchema, rules }) => Option.isSome(bodySchema) && rules.permission !== "operator"
)

export const properties = (runs: number) =>
  layer(testServer(), { excludeTestServices: true })("whatever is sent", (it) => {
    const prepare = Effect.gen(function* () {
      const ws = yield* (yield* TestServer).enter
      const ids = yield* makeDelivery(ws)
      const runtime = yield* Effect.runtime<never>()
      const send = (...call: Parameters<Entered["call"]>) => Runtime.runPromise(runtime)(ws.call(...call))
      const pathOf = (entry: ContractEntry, id?: string) =>
        entry.path
          .slice("/workspaces/:slug".length)
          .replace(/:(\w+)/g, (_, name: string) =>
            encodeURIComponent(id ?? (ids as Record<string, string>)[name] ?? "unknown")
          )
      return { send, pathOf }
    })
    const assert = <T>(property: fc.IAsyncProperty<T>) =>
      Effect.promise(() => fc.assert(property, { numRuns: runs, endOnFailure: true }))

    it.effect(
      "§8 any limit and any cursor: a list answers 200",
      () =>
        Effect.gen(function* () {
          const { pathOf, send } = yield* prepare

          yield* assert(
            fc.asyncProperty(fc.constantFrom(...lists), limit, cursor, async (entry, limit, cursor) => {
              const query = new URLSearchParams({ limit, cursor }).toString()
              const answer = await send("GET", `${pathOf(entry)}?${query}`)
              check(answer, entry.name)
              expect(answer.status, `${entry.name}?${query}`).toBe(
                entry.path.includes("Id") && answer.status === 404 ? 404 : 200
              )
              if (answer.status === 200) expect(answer.body.items.length).toBeLessThanOrEqual(200)
            })
          )
        }),
      60_000
    )

    it.effect(
      "§8 a cursor that cannot be decoded gives an empty page, in every list",
      () =>
        Effect.gen(function* () {
          const { send } = yield* prepare
          const undecodable = fc.oneof(
            fc.string({ minLength: 1 }).filter((each) => !/^[A-Za-z0-9+/_-]+={0,2}$/.test(each)),
            fc.jsonValue().map((each) => forged({ unexpected: each }))
          )

          yield* assert(
            fc.asyncProperty(undecodable, async (cursor) => {
              const answer = await send("GET", `/audit-events?cursor=${encodeURIComponent(cursor)}`)
              expect(answer.body, cursor).toEqual({ items: [], nextCursor: null })
            })
          )
        }),
      60_000
    )

    it.effect(
      "§4.3 any text in place of an id is an unknown id",
      () =>
        Effect.gen(function* () {
          const { pathOf, send } = yield* prepare
          const withId = entries.filter(
            ({ path, rules }) => /Id\b/.test(path) && rules.permission !== "operator"
          )

          yield* assert(
            fc.asyncProperty(
              fc.constantFrom(...withId),
              text.filter((id) => !/^\.{0,2}$/.test(id)),
              async (entry, id) => {
                const body = Option.isSome(entry.bodySchema) ? { body: {} } : {}
                const answer = await send(entry.method, pathOf(entry, id), body)
                check(answer, entry.name)
                if (Option.isNone(entry.bodySchema)) expect(answer.status, `${entry.name} ${id}`).toBe(404)
              }
            )
          )
        }),
      60_000
    )

    it.effect(
      "§7.1 any query string and any body gets an answer below 500",
      () =>
        Effect.gen(function* () {
          const { pathOf, send } = yield* prepare
          const names = fc.constantFrom(
            "status",
            "eventType",
            "payload",
            "endpointId",
            "since",
            "until",
            "hours",
            "url",
            "eventTypes",
            "name",
            "scopes",
            "expiresAt",
            "email",
            "role",
            "description",
            "events",
            "idempotencyKey"
          )
          const value = fc.oneof(
            fc.jsonValue(),
            text,
            fc.constantFrom(
              "\ud800",
              "\0",
              "infinity",
              "2026-01-01T00:00:00Z",
              ["*"],
              "https://example.com/a"
            )
          )
          const query = fc.dictionary(names, text)
          const body = fc.oneof(fc.jsonValue(), fc.dictionary(names, value))

          yield* assert(
            fc.asyncProperty(query, async (query) => {
              const search = new URLSearchParams(query).toString()
              check(await send("GET", `${pathOf(named("listWebhookEndpoints"))}?${search}`), search)
              check(await send("GET", `/webhooks/deliveries?${search}`), search)
            })
          )
          yield* assert(
            fc.asyncProperty(fc.constantFrom(...withBodies), body, async (entry, body) => {
              check(
                await send(entry.method, pathOf(entry), { text: JSON.stringify(body) }),
                `${entry.name} ${JSON.stringify(body)}`
              )
            })
          )
        }),
      60_000
    )
  })
