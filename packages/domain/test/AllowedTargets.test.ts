import { Either, FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import {
  type AllowedTargets,
  allowsAddress,
  allowsHost,
  isLoopback,
  isTooWide,
  loopbackTargets,
  nothingAllowed,
  parseAllowedTargets,
  productionProblems
} from "../src/AllowedTargets.ts"
import { validateWebhookUrl } from "../src/WebhookUrl.ts"

const words = (text: string) => text.split(/\s+/)

const targets = (list: string, allowHttp = false): AllowedTargets =>
  Either.getOrThrow(parseAllowedTargets(list, allowHttp))
const problem = (list: string): string => Either.getOrThrow(Either.flip(parseAllowedTargets(list, false)))
const judge = (url: string, allowed: AllowedTargets): string =>
  Either.match(validateWebhookUrl(url, allowed), {
    onLeft: (reason) => `<${reason}>`,
    onRight: (stored) => stored
  })

describe("§2.8 allowing 127.0.0.1/32:8443", () => {
  const allowed = targets("127.0.0.1/32:8443")

  it.each([
    ["https://127.0.0.1:8443/", "https://127.0.0.1:8443/"],
    ["https://127.0.0.1:8444/", "<private_address>"],
    ["https://127.0.0.1/", "<private_address>"],
    ["https://127.0.0.2:8443/", "<private_address>"],
    ["https://localhost:8443/", "<localhost>"],
    ["https://[::1]:8443/", "<private_address>"],
    ["https://[::ffff:127.0.0.1]:8443/", "<private_address>"],
    ["http://127.0.0.1:8443/", "<not_https>"],
    ["https://u:p@127.0.0.1:8443/", "<credentials>"],
    ["https://@127.0.0.1:8443/", "<credentials>"],
    ["https:127.0.0.1:8443", "<ambiguous>"],
    [`https://127.0.0.1:8443/${"a".repeat(2048)}`, "<too_long>"],
    ["https://example.com/", "https://example.com/"]
  ])("%s gives %s", (url, verdict) => {
    expect(judge(url, allowed)).toBe(verdict)
  })

  it("and none of it by default", () => {
    expect(judge("https://127.0.0.1:8443/", nothingAllowed)).toBe("<private_address>")
    expect(judge("http://127.0.0.1:8443/", { entries: [], allowHttp: true })).toBe("<not_https>")
  })
})

describe("§2.8 what an entry allows", () => {
  it("waives the host clauses for names, networks and every port", () => {
    const allowed = targets(
      "localhost, receiver.internal:8443, postgres, 10.1.0.0/16, [::1], [fd00:1::]/64:9000"
    )

    for (const url of words(`https://localhost/ https://localhost:3000/ https://receiver.internal:8443/x https://postgres/
    https://10.1.255.255:1/ https://[::1]:8443/ https://[fd00:1::2]:9000/`)) {
      expect(judge(url, allowed)).toBe(url)
    }
    expect(judge("https://0xa010001/", allowed)).toBe("https://10.1.0.1/")
    expect(judge("https://receiver.internal/", allowed)).toBe("<internal_name>")
    expect(judge("https://sub.receiver.internal:8443/", allowed)).toBe("<internal_name>")
    expect(judge("https://a.localhost/", allowed)).toBe("<localhost>")
    expect(judge("https://10.2.0.0/", allowed)).toBe("<private_address>")
    expect(judge("https://[fd00:1::2]/", allowed)).toBe("<private_address>")
  })

  it("knows the default ports 443 and, for http:, 80", () => {
    const allowed = targets("127.0.0.1:443, 127.0.0.2:80", true)

    expect(judge("https://127.0.0.1/", allowed)).toBe("https://127.0.0.1/")
    expect(judge("https://127.0.0.1:443/", allowed)).toBe("https://127.0.0.1/")
    expect(judge("http://127.0.0.2/", allowed)).toBe("http://127.0.0.2/")
    expect(judge("http://127.0.0.1/", allowed)).toBe("<not_https>")
  })

  it("accepts http: only for a listed target, and never other schemes or credentials", () => {
    const allowed = targets("127.0.0.0/8,localhost", true)

    expect(judge("http://127.0.0.1:3000/hook#x", allowed)).toBe("http://127.0.0.1:3000/hook")
    expect(judge("http://localhost:3000/", allowed)).toBe("http://localhost:3000/")
    expect(judge("http://example.com/", allowed)).toBe("<not_https>")
    expect(judge("http://10.0.0.1/", allowed)).toBe("<not_https>")
    expect(judge("ws://localhost/", allowed)).toBe("<not_https>")
    expect(judge("http://u@localhost/", allowed)).toBe("<credentials>")
    expect(judge("http://localhost:3000/", targets("localhost", false))).toBe("<not_https>")
  })

  it("lets `dev` reach this machine, also over http:, and nothing else", () => {
    for (const url of ["http://127.0.0.1:3000/", "https://[::1]/", "http://localhost/"])
      expect(judge(url, loopbackTargets)).toBe(url)
    expect(judge("http://10.0.0.1/", loopbackTargets)).toBe("<not_https>")
  })

  it("answers at connect time for addresses as a look-up returns them, and for hosts as URL.hostname writes them", () => {
    const allowed = targets("10.0.0.0/24:443, [fd00::]/64, receiver.internal")

    expect(allowsAddress(allowed, "10.0.0.9", 443)).toBe(true)
    expect(allowsAddress(allowed, "10.0.0.9", 444)).toBe(false)
    expect(allowsAddress(allowed, "10.0.1.0", 443)).toBe(false)
    expect(allowsAddress(allowed, "fd00::1", 1)).toBe(true)
    expect(allowsAddress(allowed, "::ffff:10.0.0.9", 443)).toBe(false)
    expect(allowsAddress(allowed, "receiver.internal", 443)).toBe(false)
    expect(allowsHost(allowed, "receiver.internal", 1)).toBe(true)
    expect(allowsHost(allowed, "[fd00::1]", 1)).toBe(true)
    expect(allowsHost(allowed, "10.0.0.9", 443)).toBe(true)
    expect(allowsHost(allowed, "example.com", 443)).toBe(false)
    expect(allowsHost(nothingAllowed, "10.0.0.9", 443)).toBe(false)
  })
})

describe("§10 DELIVERY_ALLOWED_TARGETS", () => {
  it("reads lists with spaces and empty entries, and keeps the original text", () => {
    expect(targets("")).toEqual(nothingAllowed)
    expect(targets(" , ")).toEqual(nothingAllowed)
    expect(targets(" 10.0.0.1 ,, LOCALHOST:3000, ", true)).toEqual({
      entries: [
        { text: "10.0.0.1", where: { address: [10, 0, 0, 1], prefix: 32 }, port: null },
        { text: "LOCALHOST:3000", where: "localhost", port: 3000 }
      ],
      allowHttp: true
    })
    expect(targets("münchen.test").entries[0]?.where).toBe("xn--mnchen-3ya.test")
  })

  it.each([
    ["http://localhost:3000", "leave out the scheme"],
    ["::1", "write [::1]"],
    ["[::1", "such as"],
    ["[localhost]", "such as"],
    ["[127.0.0.1]", "such as [::1]"],
    ["10.0.0.0/33", "longer than 32 bits"],
    ["[::]/129", "longer than 128 bits"],
    ["10.0.0.5/8", "first address"],
    ["[fd00::1]/64", "first address"],
    ["127.0.0.1:0", "from 1 to 65535"],
    ["127.0.0.1:65536", "from 1 to 65535"],
    ["127.0.0.1:", "such as"],
    ["localhost:x", "such as"],
    ["localhost/24", "such as"],
    ["localhost:3000/24", "such as"],
    ["*.example.com", "such as"],
    ["u@localhost", "such as"],
    ["127.1", "such as"],
    ["0x7f000001", "such as"],
    ["127.0.0.1.", "such as"],
    ["a..b", "such as"],
    ["localhost 10.0.0.1", "such as"]
  ])("refuses %j: %s", (entry, hint) => {
    expect(problem(`10.0.0.0/8, ${entry}`)).toContain(hint)
    expect(problem(entry)).toContain(`"${entry}"`)
  })

  it("allows the last port, and formats a network in the same way", () => {
    expect(targets("localhost:65535").entries[0]?.port).toBe(65_535)
    expect(problem("10.0.0.0/33")).toContain("such as 10.1.2.0/24")
    expect(problem("[::]/129")).toContain("such as [fd00::]/64")
  })

  it("names every bad entry, on one line of plain text", () => {
    const line = problem(`10.0.0.1,a b,\u0007\n\u001b[31m,${"x".repeat(5000)}!`)

    expect(line.match(/is not a target|is neither/g)).toHaveLength(3)
    expect(line).toMatch(/^[\x20-\x7e]{1,700}$/)
  })

  it("shows 80 characters of an entry, and the first 77 of a longer one", () => {
    const long = `${"0123456789".repeat(8)}!`

    expect(problem(`!${long.slice(0, 79)}`)).toContain(`"!${long.slice(0, 79)}"`)
    expect(problem(`!${long.slice(0, 80)}`)).toContain(`"!${long.slice(0, 76)}..."`)
  })

  it("never throws", () => {
    const entry = fc.oneof(fc.string({ unit: "binary" }), fc.stringMatching(/^[0-9a-f:.[\]/,]{0,30}$/))
    fc.assert(fc.property(entry, (list) => Either.isEither(parseAllowedTargets(list, true))))
  })
})

describe("§10 in production", () => {
  it.each([
    ["10.0.0.0/24", false, false],
    ["10.0.0.0/23", true, false],
    ["[fd00::]/64", false, false],
    ["[fd00::]/63", true, false],
    ["receiver.internal", false, false],
    ["127.0.0.1:8443", false, true],
    ["127.0.0.0/8", true, true],
    ["0.0.0.0", false, true],
    ["0.0.0.0/0", true, true],
    ["[::1]", false, true],
    ["[::]", false, true],
    ["[::ffff:127.0.0.1]", false, true],
    ["localhost", false, true],
    ["LOCALHOST:3000", false, true],
    ["a.localhost", false, true],
    ["localhost.localdomain", false, true],
    ["ip6-localhost", false, true],
    ["notlocalhost", false, false]
  ])("%s is too wide: %s, is loopback: %s", (list, wide, loopback) => {
    const [entry] = targets(list).entries

    expect([isTooWide(entry!), isLoopback(entry!)]).toEqual([wide, loopback])
    expect(productionProblems(targets(list))).toHaveLength(wide || loopback ? 1 : 0)
  })

  it("says which entry prevents the start, and why", () => {
    expect(productionProblems(targets("10.0.0.0/8, receiver.internal, localhost:3000"))).toEqual([
      '"10.0.0.0/8" is wider than /24 or /64: allow only the receivers, such as 10.1.2.0/24.',
      '"localhost:3000" allows loopback, which production does not: remove it.'
    ])
  })
})
