/**
 * Calls every operation through the derived client, on a live server: its answer decodes exactly as the contract declares,
 * and its refusal is the declared tagged error.
 */
import { FetchHttpClient } from "@effect/platform"
import { expect, layer } from "@effect/vitest"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { Effect, Option, Redacted, Schema } from "effect"
import { makeWorld, type Sample, sampleOf, type World } from "../../server/test/Samples.ts"
import { OPERATOR_TOKEN, TestServer, testServer } from "../../server/test/TestServer.ts"
import { make, type PosthornClient } from "../src/PosthornClient.ts"

type Method = (request: object) => Effect.Effect<unknown, { readonly _tag: string }>

const methodOf = (client: PosthornClient, entry: ContractEntry) =>
  Object.values(client as unknown as Record<string, Record<string, Method>>).find(
    (group) => entry.name in group
  )![entry.name]!

const decoded = (schema: Option.Option<Schema.Schema.Any>, input: unknown) =>
  Option.map(schema, (some) => Schema.decodeUnknownSync(some as Schema.Schema<unknown>)(input ?? {}))

const requestOf = (entry: ContractEntry, world: World, { body, query }: Sample) => ({
  path: world,
  ...Option.match(decoded(entry.querySchema, query), {
    onNone: () => ({}),
    onSome: (urlParams) => ({ urlParams })
  }),
  ...Option.match(decoded(entry.bodySchema, body), {
    onNone: () => ({}),
    onSome: (payload) => ({ payload })
  }),
  ...(Option.isSome(entry.headersSchema) ? { headers: {} } : {})
})

layer(testServer(), { excludeTestServices: true })("the contract", (it) => {
  it.effect(
    "§9 every answer of every operation is as the contract declares",
    () =>
      Effect.gen(function* () {
        const { call, enter, url } = yield* TestServer
        let checked = 0

        for (const entry of entries) {
          const ws = yield* enter
          const world = yield* makeWorld(ws)
          const token = entry.rules.permission === "operator" ? OPERATOR_TOKEN : ws.token
          const client = yield* make({ baseUrl: url, token: Redacted.make(token), retries: 0 })
          const path = entry.path.replace(/:(\w+)/g, (_, name: string) => (world as World)[name] ?? "unknown")
          const sample = sampleOf(entry, world)

          const value = yield* methodOf(
            client,
            entry
          )(requestOf(entry, world, sample)).pipe(
            Effect.mapError((error) => new Error(`${entry.name}: ${error._tag} ${String(error)}`))
          )
          if (entry.method === "GET") {
            const { body } = yield* call("GET", path, { token })
            Schema.decodeUnknownSync(entry.successSchema as Schema.Schema<unknown>, {
              onExcessProperty: "error"
            })(body)
          }

          expect(value === undefined, entry.name).toBe(entry.successStatus === 204)
          checked++
        }

        expect(checked).toBe(entries.length)
      }).pipe(Effect.provide(FetchHttpClient.layer)),
    60_000
  )

  it.effect("§7 a refusal is returned as its tagged error, with its members", () =>
    Effect.gen(function* () {
      const { enter, url } = yield* TestServer
      const ws = yield* enter
      const clientOf = (token: string) =>
        make({ baseUrl: `${url}/`, token: Redacted.make(token), retries: 0 })
      const path = { slug: ws.slug, deliveryId: "whd_0" }

      const missing = yield* Effect.flip((yield* clientOf(ws.token)).deliveries.getWebhookDelivery({ path }))
      const weak = yield* clientOf(yield* ws.tokenWith("member:list"))
      const forbidden = yield* Effect.flip(weak.deliveries.getWebhookDelivery({ path }))
      const nobody = yield* Effect.flip((yield* clientOf("nobody")).deliveries.getWebhookDelivery({ path }))

      expect(missing._tag).toBe("WebhookDeliveryNotFound")
      expect(forbidden).toMatchObject({ _tag: "Forbidden", permission: "webhook:read" })
      expect(nobody._tag).toBe("Unauthorized")
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})
