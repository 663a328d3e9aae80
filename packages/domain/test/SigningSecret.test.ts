import { signingKeyOf } from "@posthorn/domain/SigningSecret"
import { describe, expect, it } from "vitest"

const whsec = (bytes: number) => `whsec_${Buffer.alloc(bytes, 0xfb).toString("base64")}`

describe("a signing secret that is taken over", () => {
  it.each([24, 25, 32, 63, 64])("§2.1 is whsec_ and the base64 of %i bytes", (bytes) => {
    expect(Buffer.from(signingKeyOf(whsec(bytes))!)).toEqual(Buffer.alloc(bytes, 0xfb))
  })

  it.each([
    ["too few bytes", whsec(23)],
    ["too many bytes", whsec(65)],
    ["a missing padding", whsec(32).slice(0, -1)],
    ["bits behind the last byte", `${whsec(32).slice(0, -2)}t=`],
    ["the alphabet of URLs", whsec(32).replaceAll("+", "-")],
    ["a line break", whsec(48).replace(/(.{40})/, "$1\n")],
    ["no base64 at all", "whsec_secret_of_the_sender"],
    ["nothing behind whsec_", "whsec_"],
    ["15 characters", "a".repeat(15)],
    ["257 characters", "a".repeat(257)],
    ["a space", "a secret with spaces in it"],
    ["a letter that is not ASCII", "geheimschlüssel-der-alten"]
  ])("§2.1 is not one with %s", (_, text) => {
    expect(signingKeyOf(text)).toBeUndefined()
  })

  it("§2.1 may be another text, whose bytes are the key", () => {
    for (const text of ["a".repeat(16), "~".repeat(256), "WHSEC_0123456789", "sk_live_0123456789!"])
      expect(Buffer.from(signingKeyOf(text)!).toString()).toBe(text)
  })

  it("§2.1 as text is the whole text, even when it begins with whsec_", () => {
    for (const text of [whsec(32), "whsec_secret_of_the_sender"])
      expect(Buffer.from(signingKeyOf(text, "text")!).toString()).toBe(text)
    expect(signingKeyOf("whsec_short", "text")).toBeUndefined()
  })
})
