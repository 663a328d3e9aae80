import { assert, describe, it } from "@effect/vitest"
import type { DeliveryId } from "@posthorn/domain/Ids"
import { contentTypeOf, shapedBody } from "@posthorn/domain/RequestBody"
import { SentRequestProfile, signaturesOf } from "@posthorn/domain/RequestProfile"
import { storedFor } from "@posthorn/domain/RequestSecrets"
import { CloudEvent, type CloudEventV1, HTTP } from "cloudevents"
import { Either, ParseResult, Redacted, Schema } from "effect"

const decode = Schema.decodeUnknownEither(SentRequestProfile, { errors: "all" })

/** The position and the fault. */
const flawsOf = (sent: unknown) =>
  Either.match(decode(sent), {
    onRight: () => [],
    onLeft: (error) =>
      ParseResult.ArrayFormatter.formatErrorSync(error).map(
        ({ message, path }) => `/${path.join("/")}: ${message}`
      )
  })

const HMAC = {
  scheme: "hmac",
  header: "x-hub-signature-256",
  algorithm: "sha256",
  encoding: "hex",
  content: "{body}",
  format: "sha256={signature}"
}

const headers = (...names: ReadonlyArray<string>) => ({
  headers: names.map((name) => ({ name, value: "1" }))
})

describe("RequestProfile", () => {
  it("§2.9 accepts every part of a profile, and redacts secrets", () => {
    const sent = {
      headers: [
        { name: "X-Region", value: "eu 1" },
        { name: "x-api-key", value: "k1", secret: true },
        { name: "x-kept", secret: true, fingerprint: "5b2f8c0e9d7a4416" }
      ],
      authentication: { kind: "basic", username: "me", password: "pw" },
      body: "cloudevents",
      signatures: [{ scheme: "standard_v1" }, HMAC]
    }

    const profile = Either.getOrThrow(decode(sent))

    assert.isFalse(JSON.stringify(profile).includes("k1"))
    assert.isFalse(JSON.stringify(profile).includes("pw"))
    assert.strictEqual(Redacted.value(profile.headers![1]!.value!), "k1")
    assert.deepStrictEqual(flawsOf({}), [])
    assert.deepStrictEqual(flawsOf({ authentication: { kind: "bearer", secret: true } }), [])
  })

  it("§2.9 refuses headers that are Posthorn's own or HTTP's, misspelt, repeated, or too many", () => {
    const refused = [
      ..."host connection keep-alive transfer-encoding te trailer upgrade expect x-trace-id x-posthorn-test accept-encoding".split(
        " "
      ),
      "Content-Type",
      "content-length",
      "proxy-authorization",
      "webhook-id",
      "Webhook-Signature",
      "__proto__"
    ]
    for (const name of refused) {
      assert.deepStrictEqual(flawsOf(headers(name)), [
        "/headers/0/name: This header is Posthorn's own, or HTTP's: choose another name"
      ])
      const [flaw] = flawsOf({ signatures: [{ ...HMAC, header: name }] })
      assert.include(flaw, "This header is Posthorn's own")
    }
    for (const name of ["", "a b", "a:b", "a\r\nb", "ë", "x".repeat(65)]) {
      assert.deepStrictEqual(flawsOf(headers(name)), [
        "/headers/0/name: Expected a header's name: 1 to 64 token characters"
      ])
    }
    assert.deepStrictEqual(flawsOf(headers("x-a", "X-A")), [
      "/headers/1/name: Expected each header once, whatever its case"
    ])
    assert.deepStrictEqual(flawsOf({ ...headers("X-Hub-Signature-256"), signatures: [HMAC] }), [
      "/signatures/0/header: Expected each header once, whatever its case"
    ])
    assert.deepStrictEqual(flawsOf({ signatures: [HMAC, HMAC] }), [
      "/signatures/1/header: Expected each header once, whatever its case"
    ])
    const bearer = { authentication: { kind: "bearer", token: "t" } }
    assert.deepStrictEqual(flawsOf({ ...headers("Authorization"), ...bearer }), [
      "/headers/0/name: authorization is what authentication sends: leave one of them out"
    ])
    assert.deepStrictEqual(flawsOf(headers("authorization", "te-x", "contents", "x".repeat(64))), [])
    const many = (count: number) =>
      flawsOf(headers(...Array.from({ length: count }, (_, n) => `x-${n}`))).length
    assert.deepStrictEqual([many(20), many(21)], [0, 1])
  })

  it("§2.9 refuses values that no header can carry, without repeating them", () => {
    for (const value of ["", "geheim\r\nx: 1", "geheim\0", "geheimë", "x".repeat(2_049)]) {
      for (const secret of [{}, { secret: true }]) {
        const flaws = flawsOf({ headers: [{ name: "x-a", value, ...secret }] })
        assert.deepStrictEqual(flaws, [
          "/headers/0/value: Expected 1 to 2,048 visible ASCII characters and spaces"
        ])
      }
    }
    assert.deepStrictEqual(flawsOf({ headers: [{ name: "x-a", value: "x".repeat(2_048) }] }), [])
    const long = (names: ReadonlyArray<string>, length: number, secret = {}) =>
      names.map((name) => ({ name, value: "x".repeat(length), ...secret }))
    const four = ["x-a", "x-b", "x-c", "x-d"]
    assert.deepStrictEqual(flawsOf({ headers: long(four, 2_045) }), [])
    assert.deepStrictEqual(flawsOf({ headers: long(four, 2_046) }), [
      "/headers/3/value: Expected at most 8,192 characters in names and values of headers that are no secrets"
    ])
    assert.deepStrictEqual(flawsOf({ headers: long(four, 2_048, { secret: true }) }), [])
    for (const username of ["", "a:b", "ë"]) {
      assert.lengthOf(flawsOf({ authentication: { kind: "basic", username, password: "geheim" } }), 1)
    }
  })

  it("§2.9 refuses recipes whose placeholders are missing, doubled or unknown", () => {
    const wrong = [
      { content: "{timestamp}" },
      { content: "{body}{body}" },
      { content: "{body}{signature}" },
      { content: "{body}{" },
      { content: "}{body}" },
      { content: "{{body}}" },
      { content: "{id}.{timestamp}.{body}" },
      { content: "evt_1.17{timestamp}.{body}" },
      { content: "evt_{timestamp}.1767225600.[{body}" },
      { format: "sha256=" },
      { format: "{signature}{signature}" },
      { format: "{signature}{body}" },
      { format: "" },
      { algorithm: "md5" },
      { encoding: "base64url" }
    ]
    for (const one of wrong)
      assert.isAbove(flawsOf({ signatures: [{ ...HMAC, ...one }] }).length, 0, JSON.stringify(one))
    assert.isAbove(flawsOf({ signatures: [] }).length, 0)
    assert.isAbove(flawsOf({ signatures: [HMAC, HMAC, HMAC, HMAC] }).length, 0)
    assert.isAbove(flawsOf({ body: "xml" }).length, 0)
    assert.isAbove(flawsOf({ bodies: "payload" }).length, 0)
    assert.deepStrictEqual(
      flawsOf({
        signatures: [
          { ...HMAC, content: "{timestamp}.{body}", format: "t={timestamp},v1={signature}" },
          { ...HMAC, header: "x-b", content: "{timestamp}.{id}.{body}" }
        ]
      }),
      []
    )
  })

  it("§2.9 signs as Standard Webhooks v1 by default", () => {
    assert.deepStrictEqual(signaturesOf({}), [{ scheme: "standard_v1" }])
  })
})

describe("RequestSecrets", () => {
  it("§2.9 finds no secret where none was stored, whatever the name", () => {
    const none = { fingerprintKey: Redacted.make("a2V5"), headers: {}, authentication: null }
    for (const name of ["constructor", "toString", "x-a"]) assert.isUndefined(storedFor(none, name))
  })
})

describe("RequestBody", () => {
  const payload = '{"n":1.0, "big":12345678901234567890,"text":"Zoë 😀"}'
  const content = {
    deliveryId: "whd_01JZ0000000000000000000001" as DeliveryId,
    eventType: "invoice.paid",
    payload,
    createdAt: "2026-01-01T00:00:00.000Z",
    slug: "acme"
  }

  it("§2.9 has four shapes, each with the payload's text as published", () => {
    const shapes = ["envelope", "payload", "standard", "cloudevents"] as const
    const bodies = shapes.map((shape) => shapedBody(shape, content))

    assert.deepStrictEqual(bodies.slice(0, 3), [
      `{"deliveryId":"${content.deliveryId}","eventType":"invoice.paid","payload":${payload}}`,
      payload,
      `{"type":"invoice.paid","timestamp":"2026-01-01T00:00:00.000Z","data":${payload}}`
    ])
    for (const body of bodies) assert.include(body, payload)
  })

  it("§2.9 is a CloudEvent that the SDK of CloudEvents reads", () => {
    const message = {
      headers: { "content-type": contentTypeOf("cloudevents") },
      body: shapedBody("cloudevents", content)
    }

    // Its constructor validates, and so does reading.
    const event = new CloudEvent(HTTP.toEvent(message) as CloudEventV1<unknown>)

    assert.isTrue(HTTP.isEvent(message))
    const { data, id, source, specversion, time, type } = event
    assert.deepStrictEqual(
      { data, id, source, specversion, time, type },
      {
        data: JSON.parse(payload),
        id: content.deliveryId,
        source: "/workspaces/acme",
        specversion: "1.0",
        time: content.createdAt,
        type: "invoice.paid"
      }
    )
  })
})
