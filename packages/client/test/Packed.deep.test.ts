import { fileURLToPath } from "node:url"
import { expect, layer } from "@effect/vitest"
import { ended, installPacked, pinned, readmeBlock } from "@posthorn/testkit/Packed"
import { Effect } from "effect"
import { TestServer, testServer } from "../../server/test/TestServer.ts"

const CONSUMER = `
import { make, type PosthornClient } from "@posthorn/client"
import { Effect, Redacted } from "effect"

declare const client: PosthornClient
export const id: Effect.Effect<string, unknown> = client.deliveries
  .getWebhookDelivery({ path: { slug: "acme", deliveryId: "whd_1" } })
  .pipe(Effect.map((delivery) => delivery.status satisfies "delivered" | "pending" | "failed" | "failed_permanent" | "dead_lettered"))
// @ts-expect-error a base URL is needed
make({ token: Redacted.make("x") })
`

const TSC = fileURLToPath(new URL("../../../node_modules/typescript/bin/tsc", import.meta.url))

layer(testServer(), { excludeTestServices: true })("the packed client", (it) => {
  it.scoped(
    "§9 runs under plain Node as its README shows, and has types",
    () =>
      Effect.gen(function* () {
        const { enter, url } = yield* TestServer
        const ws = yield* enter
        const endpoint = { url: "https://example.com/hooks", eventTypes: ["*"] }
        const { body } = yield* ws.call("POST", "/webhooks", { body: endpoint })
        const installed = yield* installPacked("client", pinned("effect"), pinned("@effect/platform"))
        installed.write("publish.mjs", readmeBlock("client", "js"))
        installed.write("consumer.ts", CONSUMER)

        const env = { POSTHORN_URL: url, POSTHORN_WORKSPACE: ws.slug, POSTHORN_TOKEN: ws.token }
        const published = yield* ended(installed.node(["publish.mjs"], env))
        const strict = ["--strict", "--noEmit", "--module", "nodenext", "--target", "es2022", "--types", ""]
        const types = yield* ended(installed.node([TSC, ...strict, "consumer.ts"]))

        expect(published.err).toBe("")
        expect(published.out).toMatch(/^evt_\w+: 1 deliveries\nwhe_\w+ https:\/\/example\.com\/hooks\n$/)
        expect(published.out).toContain(body.id)
        expect(types).toEqual({ code: 0, out: "", err: "" })
      }),
    240_000
  )
})
