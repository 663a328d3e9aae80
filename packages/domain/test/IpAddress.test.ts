import { isIPv4, isIPv6 } from "node:net"
import { FastCheck as fc } from "effect"
import { describe, expect, it } from "vitest"
import {
  contains,
  isRefusedAddress,
  networkOf,
  overlap,
  parseAddress,
  reachesLoopback
} from "../src/IpAddress.ts"

const words = (text: string) => text.split(/\s+/)

const bytes = (length: number) =>
  fc.array(fc.integer({ min: 0, max: 255 }), { minLength: length, maxLength: length })
const network = (text: string) => {
  const [address, prefix] = text.split("/") as [string, string]
  return networkOf(parseAddress(address)!, Number(prefix))
}
const written = (address: ReadonlyArray<number>) =>
  address.length === 4
    ? address.join(".")
    : Array.from({ length: 8 }, (_, i) => (address[2 * i]! * 256 + address[2 * i + 1]!).toString(16)).join(
        ":"
      )

describe("§2.8 (4) reading an address", () => {
  it("agrees with Node on which texts are addresses, and with the URL parser on their value", () => {
    const near = fc.stringMatching(/^[0-9a-f:.]{0,20}$/)
    const text = fc.oneof(fc.ipV4(), fc.ipV6(), near, fc.string())
    fc.assert(
      fc.property(text, (ip) => {
        const address = parseAddress(ip)

        expect(address?.length).toBe(isIPv4(ip) ? 4 : isIPv6(ip) && !ip.includes("%") ? 16 : undefined)
        if (address?.length === 16) {
          const parsed = new URL(`https://[${ip}]/`).hostname
          expect(new URL(`https://[${written(address)}]/`).hostname).toBe(parsed)
        }
      }),
      { numRuns: 2_000 }
    )
  })

  it.each([
    "",
    ".",
    ":",
    "::1::",
    "1::2::3",
    ":::",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7::8",
    "1:2:3:4:5:6:7:8::x",
    "::1.2.3.4:1",
    "1.2.3.4::1",
    "1:2.3.4.5::",
    "::1%lo"
  ])("%j is none", (text) => {
    expect(parseAddress(text)).toBeUndefined()
    expect(isRefusedAddress(text)).toBe(true)
  })

  it("the longest spelling has 45 characters", () => {
    const longest = "0000:0000:0000:0000:0000:ffff:255.255.255.255"

    expect(longest.length).toBe(45)
    expect(parseAddress(longest)).toEqual([...Array<number>(10).fill(0), 255, 255, 255, 255, 255, 255])
  })

  it.each([
    "127.1",
    "0x7f.0.0.1",
    "0177.0.0.1",
    "127.0.0.01",
    "127.0.0.256",
    "1.2.3.4.5",
    " 8.8.8.8",
    "８.８.８.８",
    "[::1]"
  ])("%j is no plain spelling, and refused", (text) => {
    expect(parseAddress(text)).toBeUndefined()
    expect(isRefusedAddress(text)).toBe(true)
  })
})

describe("§2.8 (4) addresses that a name resolves to", () => {
  it.each(
    words(`8.8.8.8 192.0.2.1 198.51.100.7 203.0.113.9 192.31.196.1 192.175.48.1 2606:4700:4700::1111
    2001:200::1 2001:db8::1 3fff::1 2003::1 2606:4700::fe:0:1 2001:470::100:5efe:808:808
    2a00:1450:4001:81b::200e`)
  )("%s is delivered to", (ip) => {
    expect(isRefusedAddress(ip)).toBe(false)
  })

  it.each(
    words(`:: ::1 ::ffff:8.8.8.8 ::8.8.8.8 ::ffff:0:8.8.8.8 64:ff9b::8.8.8.8 64:ff9b:1::1 100::1 2001::1
    2001:1::1 2001:1ff:ffff::1 2002:808:808::1 2001:470::5efe:8.8.8.8 2001:470::200:5efe:808:808
    1fff::1 4000::1 5f00::1 fc00::1 fd00:ec2::254 fe80::1 fe80::1%eth0 febf::1 fec0::1 ff02::1
    ffff::`)
  )("%s is not", (ip) => {
    expect(isRefusedAddress(ip)).toBe(true)
  })

  it("allows nothing outside of 2000::/3", () => {
    const outside = bytes(16).filter(([first]) => first! >> 5 !== 1)

    fc.assert(fc.property(outside, (address) => isRefusedAddress(written(address))))
  })
})

describe("networks", () => {
  it("contain an address exactly when their first bits are equal", () => {
    const bits = (address: ReadonlyArray<number>) =>
      address.map((byte) => byte.toString(2).padStart(8, "0")).join("")
    const pair = fc
      .constantFrom(4, 16)
      .chain((length) =>
        fc.tuple(bytes(length), bytes(length), fc.nat({ max: length * 8 }), fc.nat({ max: length * 8 }))
      )
    fc.assert(
      fc.property(pair, ([a, other, prefix, prefixB]) => {
        const cut = networkOf(a, prefix)
        const close = [...a.slice(0, -1), other.at(-1)!]

        expect(bits(cut.address)).toBe(
          bits(a)
            .slice(0, prefix)
            .padEnd(a.length * 8, "0")
        )
        for (const b of [a, other, close]) {
          expect(contains(cut, b)).toBe(bits(a).slice(0, prefix) === bits(b).slice(0, prefix))
          const shared = Math.min(prefix, prefixB)
          expect(overlap(cut, networkOf(b, prefixB))).toBe(
            bits(a).slice(0, shared) === bits(b).slice(0, shared)
          )
        }
      })
    )
  })

  it("of one family never contain an address of the other", () => {
    expect(contains(network("0.0.0.0/0"), parseAddress("::ffff:1.2.3.4")!)).toBe(false)
    expect(contains(network("::/0"), parseAddress("1.2.3.4")!)).toBe(false)
  })

  it.each([
    ["127.0.0.1/32", true],
    ["127.255.0.0/16", true],
    ["0.0.0.0/32", true],
    ["0.0.0.0/0", true],
    ["::1/128", true],
    ["::/128", true],
    ["::/0", true],
    ["::ffff:127.0.0.1/128", true],
    ["::ffff:0.0.0.0/128", true],
    ["::ffff:0:0/96", true],
    ["126.0.0.0/8", false],
    ["128.0.0.0/8", false],
    ["10.0.0.0/8", false],
    ["::2/128", false],
    ["::ffff:10.0.0.0/104", false],
    ["fd00::/8", false]
  ])("%s leads to loopback: %s", (text, expected) => {
    expect(reachesLoopback(network(text))).toBe(expected)
  })
})
