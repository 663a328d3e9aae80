import { randomBytes } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { nothingAllowed } from "@posthorn/domain/AllowedTargets"
import { SentRequestProfile } from "@posthorn/domain/RequestProfile"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Content, DueRow } from "@posthorn/persistence/engine/Queue"
import { generateSecret, verify } from "@posthorn/signature"
import { Either, Redacted, Schema } from "effect"
import { makeResolve } from "../../src/attempt/Policies.ts"
import { makePrepare, type PreparedRequest } from "../../src/attempt/PrepareRequest.ts"
import { defaults } from "../../src/WorkerConfig.ts"

const NOW = 1_767_225_600
const box = SecretBox.make([Redacted.make(new Uint8Array(randomBytes(32)))])
const row: DueRow = {
  workspaceId: "wsp_1",
  endpointId: "whe_1",
  deliveryId: "whd_1",
  shard: 0,
  due: databaseMicros(0),
  attempts: 0,
  claims: 0,
  atOnce: false
}
const prepare = makePrepare(box, nothingAllowed, makeResolve(defaults), { "user-agent": "Posthorn/1" })

const loadedWith = (
  payload: string,
  secrets: ReadonlyArray<string>,
  url = "https://example.com/hook"
): Content => {
  const [secret, previousSecret = null] = secrets.map((text) => box.seal(row, Redacted.make(text)))
  return {
    eventType: "invoice.paid",
    payload,
    traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    isTest: false,
    retry: true,
    createdAt: null,
    endpoint: {
      ...{ url, enabled: true, generation: 0, secret: secret!, previousSecret },
      policy: { own: null, workspace: null, version: "0" },
      ...{ slug: "acme", request: null, requestSecrets: null }
    },
    failures: 0
  }
}

describe("Attempt", () => {
  it("§2.4 sends an object of deliveryId, eventType and payload, the payload as it was published", () => {
    for (const payload of [
      "null",
      "7",
      '"x"',
      "[]",
      '{"b":1.0,"a":1e3,"2":"\\u0000\\ud800"}',
      ' { "big" : 12345678901234567890 } '
    ]) {
      const { body } = prepare(row, loadedWith(payload, [generateSecret()]), NOW) as PreparedRequest

      assert.strictEqual(body, `{"deliveryId":"whd_1","eventType":"invoice.paid","payload":${payload}}`)
      assert.deepStrictEqual(Object.keys(JSON.parse(body)), ["deliveryId", "eventType", "payload"])
    }
  })

  it("§3.3 signs with the new secret first, then the old one, and with no other", () => {
    const [current, previous] = [generateSecret(), generateSecret()]

    const both = prepare(row, loadedWith("1", [current, previous]), NOW) as PreparedRequest
    const one = prepare(row, loadedWith("1", [current]), NOW) as PreparedRequest

    const entries = both.headers["webhook-signature"]!.split(" ")
    assert.strictEqual(entries.length, 2)
    assert.strictEqual(one.headers["webhook-signature"], entries[0])
    for (const secret of [current, previous]) {
      assert.strictEqual(
        verify({ secrets: [secret], headers: both.headers, body: both.body, now: NOW }).id,
        "whd_1"
      )
    }
    assert.throws(() => verify({ secrets: [previous], headers: one.headers, body: one.body, now: NOW }))
  })

  it("§2.1 checks the URL again, whatever was stored", () => {
    for (const url of [
      "http://example.com/",
      "https://127.0.0.1/",
      "https://user:pw@example.com/",
      "nonsense"
    ]) {
      assert.strictEqual(prepare(row, loadedWith("1", [generateSecret()], url), NOW), "invalid_url")
    }
  })

  it("§3.4 signs with the current secret alone when no key opens the previous one", () => {
    const current = generateSecret()
    const lost = SecretBox.make([Redacted.make(new Uint8Array(randomBytes(32)))])
    const loaded = loadedWith("1", [current])

    const { body, headers } = prepare(
      row,
      {
        ...loaded,
        endpoint: { ...loaded.endpoint, previousSecret: lost.seal(row, Redacted.make(generateSecret())) }
      },
      NOW
    ) as PreparedRequest

    assert.strictEqual(headers["webhook-signature"]!.split(" ").length, 1)
    assert.strictEqual(verify({ secrets: [current], headers, body, now: NOW }).id, "whd_1")
    assert.throws(
      () =>
        prepare(
          row,
          { ...loaded, endpoint: { ...loaded.endpoint, secret: lost.seal(row, Redacted.make(current)) } },
          NOW
        ),
      SecretBox.SecretUnreadable
    )
  })

  it("§3.4 opens secrets and checks the URL once for each version of an endpoint", () => {
    const opened: Array<number> = []
    const counting = makePrepare(
      {
        ...box,
        open: (of, sealed) => {
          opened.push(sealed.length)
          return box.open(of, sealed)
        }
      },
      nothingAllowed,
      makeResolve(defaults),
      {}
    )
    const loaded = loadedWith("1", [generateSecret()])
    const moved = { ...loaded, endpoint: { ...loaded.endpoint, url: "https://example.org/new" } }

    const urls = [loaded, loaded, moved].map((one) => (counting(row, one, NOW) as PreparedRequest).url)

    assert.deepStrictEqual(urls, [
      "https://example.com/hook",
      "https://example.com/hook",
      "https://example.org/new"
    ])
    assert.strictEqual(opened.length, 2)
  })

  it("§2.3 returns the signature that was sent, for the evidence", () => {
    const { evidence, headers } = prepare(row, loadedWith("1", [generateSecret()]), NOW) as PreparedRequest

    assert.deepStrictEqual(evidence, { signature: headers["webhook-signature"]!, requestHeaders: null })
  })

  it("§2.9 records at most 24 KiB of headers, whatever the profile says", () => {
    const recipe = (name: string) => ({
      ...{ scheme: "hmac", algorithm: "sha512", encoding: "hex", content: "{body}" },
      header: name.padEnd(64, "x"),
      format: `${"{id}".repeat(61)}{signature}`
    })
    const profile = {
      headers: ["a", "b", "c", "d"].map((name) => ({ name, value: '"'.repeat(2_047) })),
      signatures: ["x", "y", "z"].map(recipe)
    }
    assert.isTrue(Either.isRight(Schema.decodeUnknownEither(SentRequestProfile)(profile)))
    const loaded = loadedWith("1", [generateSecret()])
    const { evidence } = prepare(
      { ...row, deliveryId: `whd_${"0".repeat(26)}` },
      { ...loaded, endpoint: { ...loaded.endpoint, request: JSON.stringify(profile) } },
      NOW
    ) as PreparedRequest

    const { length } = evidence.requestHeaders!
    assert.isAbove(length, 20 * 1_024)
    assert.isBelow(length, 24 * 1_024)
  })
})
