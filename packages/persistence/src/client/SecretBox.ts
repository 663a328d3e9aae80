/**
 * Encrypts signing secrets at rest: AES-256-GCM, bound to their row, under one of several master keys.
 *
 * The secrets of an endpoint's request, the Slack URLs of a workspace's alerts, and kept answers that contain a secret, are sealed in
 * the same way.
 *
 * A sealed secret is  key id (8 bytes) · nonce (12) · ciphertext · tag (16).  The workspace and endpoint ids are associated
 * data (for an answer, its idempotency key), so a ciphertext that is moved to another row does not open. The first master
 * key seals; all of them open. To change the master key, put the new one first, re-encrypt, then drop the old one. The key
 * id is a hash of the key, so keys need no numbers. Nothing here protects against somebody who has both database and key.
 * Source: spec §3.3 and docs/settings.md (ENCRYPTION_KEY).
 */

import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes } from "node:crypto"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { Context, Data, Either, identity, Redacted } from "effect"

const ID_BYTES = 8
const NONCE_BYTES = 12
const TAG_BYTES = 16

interface MasterKey {
  readonly id: Buffer
  readonly key: Buffer
}

export class SecretUnreadable extends Data.TaggedError("SecretUnreadable")<{
  readonly endpointId: EndpointId
}> {
  override get message() {
    return `No ENCRYPTION_KEY opens a secret of ${this.endpointId}: add the key it was sealed with.`
  }
}

/**
 * What a secret is bound to: an endpoint, an endpoint's request, a workspace's alerts, or an answer that is kept under an idempotency
 * key.
 */
export type SecretRow =
  | { readonly workspaceId: WorkspaceId; readonly of: "alerts" }
  | { readonly workspaceId: WorkspaceId; readonly endpointId: EndpointId; readonly of?: "request" }
  | { readonly workspaceId: WorkspaceId; readonly idempotencyKey: string }

const nameOf = (row: SecretRow) =>
  "endpointId" in row
    ? row.endpointId
    : "idempotencyKey" in row
      ? `idempotency key|${row.idempotencyKey}`
      : row.of

const purposeOf = (row: SecretRow) => ("endpointId" in row && row.of !== undefined ? `|${row.of}` : "")

export class SecretBox extends Context.Tag("@posthorn/persistence/client/SecretBox")<
  SecretBox,
  {
    readonly seal: (row: SecretRow, secret: Redacted.Redacted) => Buffer
    readonly open: (row: SecretRow, sealed: Uint8Array) => Either.Either<Redacted.Redacted, SecretUnreadable>
    /** A digest that nobody can compare with guesses without a master key. */
    readonly fingerprint: (row: SecretRow, digest: Uint8Array) => Buffer
    /** Whether the fingerprint is that of this digest; false if its master key is gone. */
    readonly isFingerprint: (row: SecretRow, digest: Uint8Array, fingerprint: Uint8Array) => boolean
    readonly isCurrent: (sealed: Uint8Array) => boolean
  }
>() {}

const associated = (row: SecretRow) => Buffer.from(`${row.workspaceId}|${nameOf(row)}${purposeOf(row)}`)

const masterKey = (key: Buffer): MasterKey => ({
  id: createHash("sha256").update("posthorn key id").update(key).digest().subarray(0, ID_BYTES),
  key
})

/** Master keys of 32 bytes, newest first; at least one. */
export const make = (keys: ReadonlyArray<Redacted.Redacted<Uint8Array>>): SecretBox["Type"] => {
  const masters = keys.map((key) => masterKey(Buffer.from(Redacted.value(key))))
  const newest = masters[0]!

  const seal = (row: SecretRow, secret: Redacted.Redacted) => {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv("aes-256-gcm", newest.key, nonce).setAAD(associated(row))
    const sealed = Buffer.concat([cipher.update(Redacted.value(secret), "utf8"), cipher.final()])
    return Buffer.concat([newest.id, nonce, sealed, cipher.getAuthTag()])
  }

  const open: SecretBox["Type"]["open"] = (row, sealed) => {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
    const master = masters.find(({ id }) => id.equals(bytes.subarray(0, ID_BYTES)))
    if (master === undefined) return Either.left(new SecretUnreadable({ endpointId: nameOf(row) }))
    const nonce = bytes.subarray(ID_BYTES, ID_BYTES + NONCE_BYTES)
    const decipher = createDecipheriv("aes-256-gcm", master.key, nonce).setAAD(associated(row))
    decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES))
    return Either.try({
      try: () => {
        const body = bytes.subarray(ID_BYTES + NONCE_BYTES, bytes.length - TAG_BYTES)
        return Redacted.make(decipher.update(body, undefined, "utf8") + decipher.final("utf8"))
      },
      catch: () => new SecretUnreadable({ endpointId: nameOf(row) })
    })
  }

  const fingerprintBy = ({ id, key }: MasterKey, row: SecretRow, digest: Uint8Array) =>
    Buffer.concat([
      id,
      createHmac("sha256", key).update("posthorn fingerprint").update(associated(row)).update(digest).digest()
    ])

  return {
    seal,
    open,
    fingerprint: (row, digest) => fingerprintBy(newest, row, digest),
    isFingerprint: (row, digest, fingerprint) =>
      masters.some((master) => fingerprintBy(master, row, digest).equals(fingerprint)),
    isCurrent: (sealed) => newest.id.equals(Buffer.from(sealed).subarray(0, ID_BYTES))
  }
}

/** The same for a caller that cannot go on without it: throws `SecretUnreadable`. */
export const openOrThrow = (box: SecretBox["Type"], row: SecretRow, sealed: Uint8Array): Redacted.Redacted =>
  Either.getOrThrowWith(box.open(row, sealed), identity)
