import { readFileSync } from "node:fs"
import { Either, FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import { nothingAllowed } from "../src/AllowedTargets.ts"
import { describeReason, invalidUrlReasons, URL_LIMIT, validateWebhookUrl } from "../src/WebhookUrl.ts"

const words = (text: string) => text.split(/\s+/)

interface Case {
  readonly url: string
  readonly valid: boolean | null
  readonly why: string
  readonly category: string
}

const corpus: ReadonlyArray<Case> = JSON.parse(
  readFileSync(new URL("./corpora/urls.json", import.meta.url), "utf8")
)

/** The serialised form, or the reason in brackets. */
const judge = (url: string): string =>
  Either.match(validateWebhookUrl(url, nothingAllowed), {
    onLeft: (reason) => `<${reason}>`,
    onRight: (stored) => stored
  })

const accepts = (url: string) => Either.isRight(validateWebhookUrl(url, nothingAllowed))

/** Fit for a title: escaped, and shortened. */
const shown = (url: string) => JSON.stringify(url).slice(0, 100)

describe("§2.8 the corpus", () => {
  it("is complete", () => {
    expect(corpus).toHaveLength(336)
    expect(corpus.filter(({ valid }) => valid === null)).toHaveLength(29)
  })

  const decided = corpus.filter(({ valid }) => valid !== null)
  it.each(decided.map((one) => [one.valid ? "accepts" : "refuses", shown(one.url), one.why, one] as const))(
    "%s %s: %s",
    (_verdict, _shown, _why, { url, valid }) => {
      expect(accepts(url)).toBe(valid)
    }
  )

  it("§2.1 an accepted URL is stored in a form that is accepted again unchanged, without a fragment", () => {
    const stored = corpus.map(({ url }) => judge(url)).filter((one) => !one.startsWith("<"))

    expect(stored.length).toBeGreaterThan(60)
    expect(stored.map(judge)).toEqual(stored)
    for (const one of stored) expect(one).toMatch(/^https:\/\/[^/#]+\/[\x21-\x7e]*$/)
    for (const one of stored) expect(one).not.toContain("#")
  })

  it.each([
    ["scheme", ["not_https"]],
    ["malformed", ["malformed"]],
    ["userinfo", ["credentials"]],
    ["localhost", ["localhost", "internal_name"]],
    ["single-label", ["single_label"]],
    ["private-ipv4", ["private_address"]],
    ["loopback-ipv4", ["private_address"]],
    ["linklocal-ipv4", ["private_address"]],
    ["special-ipv4", ["private_address"]],
    ["private-ipv6", ["private_address"]],
    ["v4-mapped", ["private_address"]],
    ["special-ipv6", ["private_address"]],
    ["internal-name", ["internal_name"]]
  ])("names the reason of the category %s: %j", (category, reasons) => {
    const refused = corpus.filter((one) => one.category === category && one.valid === false)

    expect(refused.length).toBeGreaterThan(0)
    expect(
      refused.filter(({ url }) => !reasons.includes(judge(url).slice(1, -1))).map(({ url }) => url)
    ).toEqual([])
  })
})

describe("§2.8 cases beyond the corpus", () => {
  it.each([
    ["https://0x08080808/", "<address_spelling>"],
    ["https://8.8.2056/", "<address_spelling>"],
    ["https://010.0.0.1/", "<address_spelling>"],
    ["https://８.８.８.８/", "<address_spelling>"],
    ["https://8.8.8.8./", "<address_spelling>"],
    ["https://example.com./", "<invalid_host>"],
    [`https://${"a".repeat(64)}.example.com/`, "<invalid_host>"],
    [`https://${"a.".repeat(126)}bc/`, "<invalid_host>"],
    [`https://${"a.".repeat(126)}b/`, `https://${"a.".repeat(126)}b/`],
    ["https://a..internal/", "<invalid_host>"],
    ["https://[2606:4700::]/", "https://[2606:4700::]/"],
    ["https://*.example.com/", "<invalid_host>"],
    ["https://foo-.example.com/", "<invalid_host>"],
    ["https://example.com\\.evil.example/", "<ambiguous>"],
    ["https:example.com/hook", "<ambiguous>"],
    ["https:/example.com/hook", "<ambiguous>"],
    ["https:\\\\example.com\\hook", "<ambiguous>"],
    ["https://example.com/a\\b", "<ambiguous>"],
    ["https://exam\nple.com/", "<ambiguous>"],
    ["ht\ntps://example.com/", "<ambiguous>"],
    ["https://exa%6dple.com/", "<ambiguous>"],
    ["https://exa\u200bmple.com/", "<ambiguous>"],
    ["https://ｅｘａｍｐｌｅ.com/", "<ambiguous>"],
    ["https://example.com/\n", "<ambiguous>"],
    ["https://example.com/\u0001", "<ambiguous>"],
    ["https://example.com/a\r\nX-Injected: 1", "<ambiguous>"],
    ["https://example.com/\ud800", "<ambiguous>"],
    ["https://example.com/#\u0000", "<ambiguous>"],
    ["https://example.com:0/", "<malformed>"],
    ["https://", "<malformed>"],
    ["http://", "<not_https>"],
    [" https://example.com/hook ", "https://example.com/hook"],
    [" https://8.8.8.8 ", "https://8.8.8.8/"],
    ["https://example.com:/", "https://example.com/"],
    ["https://example.com:25/", "https://example.com:25/"],
    ["https://example.com/?a=\\b", "https://example.com/?a=\\b"],
    ["https://mu\u0308nchen.de/", "https://xn--mnchen-3ya.de/"]
  ])("%j gives %s", (url, verdict) => {
    expect(judge(url)).toBe(verdict)
  })
})

describe("§2.8 clause by clause", () => {
  it.each(["\u3002", "\uff0e", "\uff61"])(
    "treats a host written with the full stop %j like the host it maps to",
    (dot) => {
      expect(judge(`https://hooks${dot}example${dot}com/a`)).toBe("https://hooks.example.com/a")
      expect(judge(`https://hooks${dot}internal/`)).toBe("<internal_name>")
      expect(judge(`https://10${dot}0${dot}0${dot}1/`)).toBe("<private_address>")
      expect(judge(`https://8${dot}8${dot}8${dot}8/`)).toBe("<address_spelling>")
      expect(judge(`https://hooks${dot}example.com${dot}/`)).toBe("<invalid_host>")
    }
  )

  it("drops the fragment and keeps path and query", () => {
    expect(judge("https://Example.com/a/../Hook?x=1#secret")).toBe("https://example.com/Hook?x=1")
    expect(judge("https://example.com#")).toBe("https://example.com/")
  })

  it("(2) treats an @ before the host as credentials, even empty ones, and no other @", () => {
    for (const authority of ["@", ":@", "u@", ":p@", "u:p@", "@@", "%40@"]) {
      expect(judge(`https://${authority}example.com/`)).toBe("<credentials>")
    }
    expect(judge("https:\t//\n@example.com/")).toBe("<credentials>")
    expect(judge("https:@example.com/")).toBe("<credentials>")
    expect(judge("https://example.com/@b?@c#@d")).toBe("https://example.com/@b?@c")
  })

  it("(5) compares whole labels at the end of the name", () => {
    const internal = words(`localdomain local internal lan home home.arpa corp intranet svc`)
    for (const suffix of internal) {
      expect(judge(`https://a.${suffix}/`)).toBe("<internal_name>")
      expect(judge(`https://a.b.${suffix.toUpperCase()}./`)).toBe("<internal_name>")
      expect(judge(`https://a${suffix}.example/`)).toBe(`https://a${suffix}.example/`)
      expect(judge(`https://${suffix}.example/`)).toBe(`https://${suffix}.example/`)
    }
    expect(judge("https://arpa.home.example/")).toBe("https://arpa.home.example/")
  })

  it("(6) counts 2,048 characters of the text and of the stored form", () => {
    const start = "https://example.com/"
    const longest = start + "a".repeat(2_048 - start.length)

    expect(judge(longest)).toBe(longest)
    expect(judge(`${longest}a`)).toBe("<too_long>")
    expect(judge(start + "é".repeat(400))).toBe("<too_long>")
    expect(judge(`${start}#${"a".repeat(URL_LIMIT)}`)).toBe("<too_long>")
  })

  it("says for each reason, in a sentence, what to do", () => {
    const said = invalidUrlReasons.map(describeReason)

    expect(new Set(said).size).toBe(invalidUrlReasons.length)
    for (const sentence of said) expect(sentence).toMatch(/^[A-Z].{20,}\.$/)
  })
})

const int = (text: string) => text.split(".").reduce((value, part) => value * 256 + Number(part), 0)
const dotted = (value: number) => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255)
const fullwidth = (text: string) =>
  text.replace(/[0-9]/g, (digit) => String.fromCharCode(0xff10 + Number(digit)))

/** Every spelling of an IPv4 address that some parser accepts. */
const spellings = (value: number): ReadonlyArray<string> => {
  const [a, b, c, d] = dotted(value) as [number, number, number, number]
  const plain = `${a}.${b}.${c}.${d}`
  const hex = (part: number, digits = 1) => part.toString(16).padStart(digits, "0")
  const octal = (part: number) => `0${part.toString(8)}`
  const groups = `${hex(a * 256 + b)}:${hex(c * 256 + d)}`
  return [
    plain,
    `${plain}.`,
    `${value}`,
    `0x${hex(value)}`,
    `0X${hex(value, 8).toUpperCase()}`,
    octal(value),
    `${a}.${value % 2 ** 24}`,
    `${a}.${b}.${value % 2 ** 16}`,
    [a, b, c, d].map((part) => `0x${hex(part)}`).join("."),
    [a, b, c, d].map(octal).join("."),
    `${a}.0x${hex(b)}.${octal(c)}.${d}`,
    plain.replaceAll(".", "%2e"),
    plain.replaceAll(".", "。"),
    fullwidth(plain),
    fullwidth(plain).replaceAll(".", "．"),
    fullwidth(`${value}`),
    `[::ffff:${plain}]`,
    `[::FFFF:${groups}]`,
    `[0:0:0:0:0:ffff:${groups}]`,
    `[::${plain}]`,
    `[::ffff:0:${plain}]`,
    `[64:ff9b::${plain}]`,
    `[64:ff9b:1::${groups}]`,
    `[2002:${groups}::1]`,
    `[2001:0:${groups}::]`,
    `[2a00:1450::5efe:${plain}]`,
    `[2a00:1450::200:5efe:${groups}]`
  ]
}

describe("§2.8 (4) addresses, for any address of a refused range", () => {
  it.each([
    ["0.0.0.0", "0.255.255.255"],
    ["10.0.0.0", "10.255.255.255"],
    ["100.64.0.0", "100.127.255.255"],
    ["127.0.0.0", "127.255.255.255"],
    ["168.63.129.16", "168.63.129.16"],
    ["169.254.0.0", "169.254.255.255"],
    ["172.16.0.0", "172.31.255.255"],
    ["192.0.0.0", "192.0.0.255"],
    ["192.88.99.0", "192.88.99.255"],
    ["192.168.0.0", "192.168.255.255"],
    ["198.18.0.0", "198.19.255.255"],
    ["224.0.0.0", "255.255.255.255"]
  ])("refuses %s to %s in every spelling", (first, last) => {
    const value = fc.integer({ min: int(first), max: int(last) })
    const refused = (one: number) => {
      const passed = spellings(one).filter((host) => judge(`https://${host}/`) !== "<private_address>")

      expect(passed).toEqual([])
    }

    refused(int(first))
    refused(int(last))
    fc.assert(fc.property(value, refused), { numRuns: 50 })
  })

  it("accepts any other address in its plain form only", () => {
    const before = ["9.255.255.255", "100.63.255.255", "126.255.255.255", "172.15.255.255", "223.255.255.255"]
    const after = words(`1.0.0.0 11.0.0.0 100.128.0.0 128.0.0.0 169.255.0.0 172.32.0.0 192.0.1.0`)
    for (const one of [...before, ...after, "168.63.129.15", "168.63.129.17", "192.169.0.0", "198.20.0.0"]) {
      const accepted = spellings(int(one)).filter((host) => accepts(`https://${host}/`))

      expect(accepted).toEqual([one])
    }
  })
})

describe("no text throws", () => {
  const host = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.ipV4(),
    fc.ipV6(),
    fc.domain(),
    fc.constant("localhost")
  )
  const anyUrl = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.string(),
    fc.webUrl({ withFragments: true, withQueryParameters: true }),
    fc
      .tuple(fc.constantFrom("https://", "https:", "http://", "HTTPS:\\\\"), host, fc.string())
      .map((parts) => parts.join("")),
    fc.tuple(fc.ipV6(), fc.string()).map(([ip, path]) => `https://[${ip}]/${path}`)
  )

  it("an accepted URL is https, plain ASCII, bounded, and accepted again unchanged", () => {
    fc.assert(
      fc.property(anyUrl, (raw) => {
        const verdict = judge(raw)
        if (verdict.startsWith("<")) {
          expect(invalidUrlReasons).toContain(verdict.slice(1, -1))
          return
        }
        expect(verdict).toMatch(/^https:\/\/[^/@#]+\/[\x21-\x7e]*$/)
        expect(verdict.length).toBeLessThanOrEqual(URL_LIMIT)
        expect(judge(verdict)).toBe(verdict)
      }),
      { numRuns: 2_000 }
    )
  })
})
