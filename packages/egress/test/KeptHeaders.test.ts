import { describe, expect, it } from "@effect/vitest"
import { keptHeaders } from "../src/KeptHeaders.ts"

const kept = (...headers: ReadonlyArray<readonly [string, string | Buffer]>) => {
  const text = keptHeaders(headers.flatMap(([name, value]) => [Buffer.from(name), Buffer.from(value)]))
  return text === undefined ? undefined : (JSON.parse(text) as unknown)
}

describe("headers that are kept", () => {
  it("§4.5 keeps the five that explain an answer, in any case, and no others", () => {
    expect(
      kept(
        ["Content-Type", "text/html"],
        ["Date", "now"],
        ["LOCATION", "https://example.com/new"],
        ["retry-after", "120"],
        ["Server", "nginx"],
        ["WWW-Authenticate", "Bearer"],
        ["Set-Cookie", "a=b"],
        ["X-Server-Name", "secret"],
        ["sErvEd", "no"]
      )
    ).toEqual({
      "content-type": "text/html",
      location: "https://example.com/new",
      "retry-after": "120",
      server: "nginx",
      "www-authenticate": "Bearer"
    })
    expect(kept(["Date", "now"])).toBeUndefined()
    expect(kept()).toBeUndefined()
  })

  it("§4.5 cuts a long value to 256 bytes without splitting a character", () => {
    const long = kept(["location", "x".repeat(5000)]) as { readonly location: string }
    const wide = kept(["location", `x${"€".repeat(100)}`]) as { readonly location: string }

    expect(long.location).toBe("x".repeat(256))
    expect(wide.location).toBe(`x${"€".repeat(85)}`)
  })

  it("§4.5 replaces invalid bytes by U+FFFD, joins repeated headers, and escapes what JSON must", () => {
    expect(kept(["server", Buffer.from([0x61, 0xff, 0x00, 0x22, 0x5c])])).toEqual({
      server: 'a\uFFFD\uFFFD"\\'
    })
    expect(kept(["www-authenticate", "Basic"], ["www-authenticate", "Bearer"])).toEqual({
      "www-authenticate": "Basic, Bearer"
    })
    expect(kept(["server", `__proto__`])).toEqual({ server: "__proto__" })
  })
})
