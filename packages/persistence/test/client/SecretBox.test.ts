import { randomBytes } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { Redacted } from "effect"

const key = () => Redacted.make(new Uint8Array(randomBytes(32)))
const row = { workspaceId: "wsp_1", endpointId: "whe_1" }
const secret = "whsec_Pbt4SEoBXUXC7CEeMnsftufAM0Zw/P9O+HqUYDogcuM="
/** `secret`, sealed for `row` with the key of bytes 0 to 31: key id, nonce, ciphertext, tag. */
const SEALED_BEFORE =
  "IdPuCoMKa0ad7gFbqPUo5Ss+qVsfk663qzrpxUrWoVYZ0EkYbUjMPjCJLLkYWFmRfEFYn5103OTNO1HNqGNf5XrXRquAWpR1B8LPmbU5iOvM86jRtis="

describe("SecretBox", () => {
  it("§3.4 opens what it sealed, and shows nothing of it", () => {
    const box = SecretBox.make([key()])

    const sealed = box.seal(row, Redacted.make(secret))

    assert.strictEqual(Redacted.value(SecretBox.openOrThrow(box, row, sealed)), secret)
    assert.isFalse(sealed.includes(secret))
    assert.isFalse(sealed.includes(Buffer.from(secret.slice(6), "base64")))
    assert.notDeepEqual(box.seal(row, Redacted.make(secret)), sealed)
  })

  it("§3.4 does not open a ciphertext that was moved to another row, or changed", () => {
    const box = SecretBox.make([key()])
    const sealed = box.seal(row, Redacted.make(secret))
    const changed = Buffer.from(sealed)
    changed[25]! ^= 1

    assert.throws(() => SecretBox.openOrThrow(box, { ...row, endpointId: "whe_2" }, sealed), /ENCRYPTION_KEY/)
    assert.throws(
      () => SecretBox.openOrThrow(box, { ...row, workspaceId: "wsp_2" }, sealed),
      /ENCRYPTION_KEY/
    )
    assert.throws(() => SecretBox.openOrThrow(box, row, changed), /ENCRYPTION_KEY/)
  })

  it("§3.4 a fingerprint is told by the keys that are there, of this row and digest only", () => {
    const [old, present] = [key(), key()]
    const digest = randomBytes(32)
    const made = SecretBox.make([old]).fingerprint(row, digest)
    const after = SecretBox.make([present, old])

    assert.isTrue(after.isFingerprint(row, digest, made))
    assert.isTrue(after.isFingerprint(row, digest, after.fingerprint(row, digest)))
    assert.isFalse(SecretBox.make([present]).isFingerprint(row, digest, made))
    assert.isFalse(after.isFingerprint({ ...row, endpointId: "whe_2" }, digest, made))
    assert.isFalse(after.isFingerprint(row, randomBytes(32), made))
    assert.isFalse(made.includes(digest))
  })

  it("§3.4 opens what an earlier release sealed", () => {
    const box = SecretBox.make([Redacted.make(new Uint8Array(32).map((_, i) => i))])

    const opened = SecretBox.openOrThrow(box, row, Buffer.from(SEALED_BEFORE, "base64"))

    assert.strictEqual(Redacted.value(opened), secret)
  })

  it("§3.4 does not open an answer under another idempotency key, nor as an endpoint's secret", () => {
    const box = SecretBox.make([key()])
    const answer = { workspaceId: "wsp_1", idempotencyKey: "whe_1" }

    const sealed = box.seal(answer, Redacted.make(secret))

    assert.strictEqual(Redacted.value(SecretBox.openOrThrow(box, answer, sealed)), secret)
    assert.throws(
      () => SecretBox.openOrThrow(box, { ...answer, idempotencyKey: "whe_2" }, sealed),
      /ENCRYPTION_KEY/
    )
    assert.throws(() => SecretBox.openOrThrow(box, row, sealed), /ENCRYPTION_KEY/)
  })

  it("§10 opens with any of its keys and seals with the newest", () => {
    const [older, newer] = [key(), key()]
    const sealed = SecretBox.make([older]).seal(row, Redacted.make(secret))

    const both = SecretBox.make([newer, older])

    assert.strictEqual(Redacted.value(SecretBox.openOrThrow(both, row, sealed)), secret)
    assert.isFalse(both.isCurrent(sealed))
    assert.isTrue(both.isCurrent(both.seal(row, Redacted.make(secret))))
    assert.throws(() => SecretBox.openOrThrow(SecretBox.make([newer]), row, sealed), /ENCRYPTION_KEY/)
  })
})
