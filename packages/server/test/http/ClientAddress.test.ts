/** Which address counts as the client's behind proxies: as a table, and over HTTP by the counted failed sign-ins. */
import { expect, layer } from "@effect/vitest"
import { parseNetwork } from "@posthorn/domain/IpAddress"
import { Effect } from "effect"
import { describe, it } from "vitest"
import { clientAddress } from "../../src/http/ClientAddress.ts"
import { TestServer, testServer } from "../TestServer.ts"

const trusted = ["10.0.0.0/8", "192.0.2.7", "[fd00::]/8"].map((text) => parseNetwork(text)!)

describe("the address of a client", () => {
  it.each([
    // peer, header, its value, the client
    ["203.0.113.9", "x-forwarded-for", "198.51.100.1", "203.0.113.9"],
    ["10.0.0.1", "x-forwarded-for", "198.51.100.1", "198.51.100.1"],
    ["::ffff:10.0.0.1", "x-forwarded-for", "198.51.100.1", "198.51.100.1"],
    ["10.0.0.1", "x-forwarded-for", "1.2.3.4, 198.51.100.1, 192.0.2.7", "198.51.100.1"],
    ["10.0.0.1", "x-forwarded-for", "10.9.9.9, 10.0.0.2", "10.9.9.9"],
    ["10.0.0.1", "x-forwarded-for", "198.51.100.1:4711", "198.51.100.1"],
    ["10.0.0.1", "x-forwarded-for", "unknown", "10.0.0.1"],
    ["10.0.0.1", "x-forwarded-for", "198.51.100.1, nonsense", "10.0.0.1"],
    ["10.0.0.1", "x-forwarded-for", "198.51.100.1,", "10.0.0.1"],
    ["10.0.0.1", "x-forwarded-for", "", "10.0.0.1"],
    ["10.0.0.1", "forwarded", "for=198.51.100.1;proto=https", "198.51.100.1"],
    ["10.0.0.1", "forwarded", 'For="[2001:db8::1]:4711", for=192.0.2.7', "2001:db8::1"],
    ["fd00::1", "forwarded", "by=10.0.0.1; for=198.51.100.1", "198.51.100.1"],
    ["10.0.0.1", "forwarded", "for=_hidden", "10.0.0.1"],
    ["10.0.0.1", "forwarded", "proto=https", "10.0.0.1"]
  ])("§7.1 %s with %s: %s is %s", (peer, header, value, client) => {
    expect(clientAddress(peer, { [header]: value }, trusted)).toBe(client)
  })

  it("§7.1 prefers Forwarded to X-Forwarded-For, and ignores both without trusted proxies", () => {
    const both = { forwarded: "for=198.51.100.1", "x-forwarded-for": "198.51.100.2" }

    expect(clientAddress("10.0.0.1", both, trusted)).toBe("198.51.100.1")
    expect(clientAddress("10.0.0.1", both, [])).toBe("10.0.0.1")
  })

  it("§7.1 accepts addresses and networks, no ports and no names", () => {
    for (const text of ["10.0.0.1:80", "proxy.internal", "10.0.0.0/33", "fd00::/129", "", "10.0.0"])
      expect([text, parseNetwork(text)]).toEqual([text, undefined])
  })
})

const quotas = { auth_failure: { limit: 3, windowSeconds: 600 } }
const failedSignIns = Effect.flatMap(TestServer, ({ call }) =>
  Effect.forEach([1, 2, 3, 4, 5, 6], (n) =>
    call("GET", "/workspaces", {
      token: "wrong",
      headers: { "x-forwarded-for": `1.2.3.4, 198.51.100.${1 + (n % 2)}` }
    })
  )
)

layer(testServer({ quotas, trustedProxies: [parseNetwork("127.0.0.0/8")!] }), { excludeTestServices: true })(
  "behind a trusted proxy",
  (it) => {
    it.effect("§7.1 failed sign-ins count for the client, whatever its own headers say", () =>
      Effect.gen(function* () {
        expect((yield* failedSignIns).map(({ status }) => status)).toEqual([401, 401, 401, 401, 401, 401])
        expect((yield* failedSignIns).map(({ status }) => status)).toEqual([429, 429, 429, 429, 429, 429])
      })
    )
  }
)

layer(testServer({ quotas }), { excludeTestServices: true })("without one", (it) => {
  it.effect("§7.1 failed sign-ins count for the peer: no header gets a caller a bucket of its own", () =>
    Effect.gen(function* () {
      expect((yield* failedSignIns).map(({ status }) => status)).toEqual([401, 401, 401, 429, 429, 429])
    })
  )
})
