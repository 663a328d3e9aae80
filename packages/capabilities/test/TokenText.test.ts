import { assert, describe, it } from "@effect/vitest"
import * as TokenText from "@posthorn/capabilities/TokenText"
import { newId } from "@posthorn/domain/Ids"
import { FastCheck as fc, Redacted } from "effect"

/** A token whose checksum begins with a zero. */
const ID = "0000000000000000000000000000a"

describe("TokenText", () => {
  it("§5.1 issues phk_<id>_<secret>_<checksum> and reads it back", () => {
    const tokenId = newId("token")

    const { secretHash, text } = TokenText.issue(tokenId)

    const parts = TokenText.read(Redacted.value(text))
    assert.match(Redacted.value(text), /^phk_[0-9a-f]{29}_[0-9a-f]{64}_[0-9a-f]{8}$/)
    assert.strictEqual(parts?.tokenId, tokenId)
    assert.isTrue(TokenText.matches(parts!.secret, secretHash))
    assert.isFalse(TokenText.matches("0".repeat(64), secretHash))
    assert.strictEqual(String(text), "<redacted>")
  })

  it("§5.1 reads tokens that were issued before: their form never changes", () => {
    const secret = "0123456789abcdef".repeat(4)
    const issued = `phk_${ID}_${secret}_06181883`

    assert.deepStrictEqual(TokenText.read(issued), { tokenId: `tok_${ID}`, secret })
    const hash = TokenText.hashSecret(secret).toString("hex")
    assert.strictEqual(hash, "a8ae6e6ee929abea3afcfc5258c8ccd6f85273e0d4626d26c7279f3250f77c8e")
  })

  it("§5.1 recognises a mistyped token without looking it up", () => {
    const text = Redacted.value(TokenText.issue(newId("token")).text)

    for (let at = 0; at < text.length; at++) {
      const wrong = text[at] === "0" ? "1" : "0"
      assert.isUndefined(TokenText.read(text.slice(0, at) + wrong + text.slice(at + 1)), `position ${at}`)
    }
  })

  it.prop("§5 accepts no other text as a token", [fc.string()], ([text]) => {
    assert.isUndefined(TokenText.read(text))
  })
})
