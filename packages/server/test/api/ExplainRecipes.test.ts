/** Explaining signatures of other recipes than `standard_v1`, on requests as the worker sends them. */
import { expect, layer } from "@effect/vitest"
import { make as makeReceiver } from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { makeEndpoint, publish } from "../Fixtures.ts"
import { serverAndWorker } from "../mcp/Agent.ts"
import { entered } from "../TestServer.ts"

const stripe = {
  scheme: "hmac",
  header: "Stripe-Signature",
  algorithm: "sha256",
  encoding: "hex",
  content: "{timestamp}.{body}",
  format: "t={timestamp},v1={signature}"
}
const github = { ...stripe, header: "X-Hub-Signature", content: "{body}", format: "sha256={signature}" }
const V1A = { scheme: "standard_v1a" }

type Headers = Readonly<Record<string, string>>

/** An endpoint with these signatures, a request to it as its receiver got it, and what Posthorn says of another. */
const world = (signatures: ReadonlyArray<object>, body = "payload") =>
  Effect.gen(function* () {
    const ws = yield* entered
    const receiver = yield* makeReceiver()
    const id = yield* makeEndpoint(ws, { url: receiver.url("/ok"), request: { body, signatures } })
    yield* publish(ws, "invoice.paid", { total: 1.5, ids: [1, 2] })
    const [sent] = yield* receiver.waitFor(1)
    const headers: Headers = Object.fromEntries(
      sent!.headers.map(([name, value]) => [name.toLowerCase(), value])
    )
    const text = sent!.body.toString("utf8")
    const explain = (given: Headers = headers, of = text) =>
      Effect.map(
        ws.call("POST", `/webhooks/${id}/explain-signature`, { body: { headers: given, body: of } }),
        (answer) => answer.body as unknown as { readonly verdict: string; readonly explanation: string }
      )
    const verdict = (given: Headers = headers, of = text) =>
      Effect.map(explain(given, of), (answer) => answer.verdict)
    const rotate = ws.call("POST", `/webhooks/${id}/rotate-secret`)
    return { explain, headers, rotate, text, verdict, ws, id }
  })

const without = (headers: Headers, name: string): Headers =>
  Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name))

layer(serverAndWorker, { excludeTestServices: true })("explaining other signatures", (it) => {
  it.scoped("§4.6 judges Ed25519 entries by the endpoint's key pair, the one before a rotation too", () =>
    Effect.gen(function* () {
      const { headers, rotate, text, verdict } = yield* world([V1A], "envelope")

      expect(headers["webhook-signature"]).toMatch(/^v1a,/)
      expect(yield* verdict()).toBe("right")
      expect(yield* verdict(headers, text.replaceAll(":", ": "))).toBe("body_changed")
      expect(yield* verdict({ ...headers, "webhook-id": "whd_1" })).toBe("wrong_secret")
      expect(yield* verdict({ ...headers, "webhook-signature": `v1a,${"A".repeat(86)}==` })).toBe(
        "wrong_secret"
      )
      yield* rotate
      expect(yield* verdict()).toBe("previous_secret")
      yield* rotate
      expect(yield* verdict()).toBe("wrong_secret")
    })
  )

  it.scoped("§4.6 judges an HMAC header by its recipe, and finds the body that was sent", () =>
    Effect.gen(function* () {
      for (const body of ["payload", "standard", "cloudevents"]) {
        const { explain, headers, rotate, text, verdict } = yield* world([stripe], body)

        expect([body, yield* verdict()]).toEqual([body, "right"])
        expect(yield* verdict(headers, "{}")).toBe("body_changed")
        expect(yield* verdict({ ...headers, "webhook-timestamp": "1" })).toBe("wrong_secret")
        const lost = yield* explain(without(headers, "stripe-signature"))
        expect(lost).toMatchObject({
          verdict: "header_missing",
          explanation: expect.stringContaining("Stripe-Signature")
        })
        yield* rotate
        expect(yield* explain(headers, text)).toMatchObject({
          verdict: "previous_secret",
          explanation: expect.stringContaining("alone")
        })
      }
    })
  )

  it.scoped(
    "§4.6 of several signatures judges those that are given, and names the one that is not right",
    () =>
      Effect.gen(function* () {
        const { explain, headers, verdict } = yield* world([{ scheme: "standard_v1" }, V1A, github])

        expect(yield* verdict()).toBe("right")
        expect(yield* verdict({ "x-hub-signature": headers["x-hub-signature"]! })).toBe("right")
        expect(yield* verdict(without(headers, "x-hub-signature"))).toBe("right")
        expect(yield* explain({ ...headers, "x-hub-signature": "sha256=00" })).toMatchObject({
          verdict: "wrong_secret",
          explanation: expect.stringContaining("X-Hub-Signature")
        })
        expect((yield* explain({})).verdict).toBe("header_missing")
      })
  )
})
