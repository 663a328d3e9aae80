/** Pages of the largest rows, and what of a client certificate is shown where. */
import { expect, layer } from "@effect/vitest"
import { certificate } from "@posthorn/testkit/Certificates"
import { Effect } from "effect"
import { makeEndpoint } from "../Fixtures.ts"
import { entered, testServer } from "../TestServer.ts"

const ROWS = 120
const MOST_BYTES = 1_200_000

const filledWith = (letter: string) => ({
  request: {
    headers: Array.from({ length: 4 }, (_, n) => ({ name: `x-${n}`, value: letter.repeat(2_045) }))
  },
  metadata: Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => [String(n).padStart(64, "0"), letter.repeat(500)])
  )
})

layer(testServer(), { excludeTestServices: true })("pages by bytes", (it) => {
  it.effect(
    "§8 a page of the largest endpoints, or of their changes, ends at 1 MiB and goes on by its cursor",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const ids = yield* Effect.forEach(
          Array.from({ length: ROWS }),
          () => makeEndpoint(ws, filledWith("x")),
          {
            concurrency: 8
          }
        )
        for (const id of ids) yield* ws.call("PATCH", `/webhooks/${id}`, { body: filledWith("y") })

        for (const [path, most] of [
          ["/webhooks", ROWS],
          ["/audit-events", 2 * ROWS]
        ] as const) {
          const seen: Array<string> = []
          let cursor = ""
          let pages = 0
          do {
            const { body, text } = yield* ws.call(
              "GET",
              `${path}?limit=200&cursor=${encodeURIComponent(cursor)}`
            )
            expect(text.length).toBeLessThan(MOST_BYTES)
            seen.push(...body.items.map(({ id }) => id))
            cursor = body.nextCursor ?? ""
            pages++
          } while (cursor !== "")
          expect(pages).toBeGreaterThan(2)
          expect(new Set(seen).size).toBe(seen.length)
          expect(seen.length).toBeGreaterThanOrEqual(most)
        }
      })
  )

  it.effect(
    "§2.9 a certificate is shown by its endpoint, not in lists, and as a fingerprint in the audit log",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const { cert, key } = certificate("valid")
        const id = yield* makeEndpoint(ws)
        const authentication = { kind: "mtls", certificate: cert, privateKey: key }
        yield* ws.call("PATCH", `/webhooks/${id}`, { body: { request: { authentication } } })

        const detail = yield* ws.call("GET", `/webhooks/${id}`)
        const list = yield* ws.call("GET", "/webhooks")
        const audit = yield* ws.call("GET", "/audit-events?action=webhook.endpoint_updated")

        expect(detail.body.request).toMatchObject({ authentication: { kind: "mtls", certificate: cert } })
        expect(list.body.items[0]!.request).toMatchObject({ authentication: { kind: "mtls", secret: true } })
        expect(list.text + audit.text).not.toContain("BEGIN")
        expect(audit.text).toMatch(/"certificate":"[0-9a-f]{64}"/)
      })
  )

  it.effect("§2.9 a secret is asked for again when the path changes, and not when only the query does", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const headers = [{ name: "x-key", value: "a secret", secret: true }]
      const id = yield* makeEndpoint(ws, { url: "https://example.com/mine?a=1", request: { headers } })
      const move = (url: string) =>
        Effect.map(ws.call("PATCH", `/webhooks/${id}`, { body: { url } }), ({ status }) => status)

      expect(yield* move("https://example.com/theirs")).toBe(400)
      expect(yield* move("https://example.com/mine?a=2")).toBe(200)
    })
  )
})
