/**
 * Signing secrets: `whsec_` and the standard base64, with padding, of the HMAC key.
 *
 * Posthorn's keys are 32 random bytes, and `decodeSecret` takes nothing else: a secret cut short while it was copied
 * fails here instead of signing with another key. Node's own decoder would not notice: it skips what it cannot read
 * and takes the URL-safe alphabet as well. Source: spec §2.1 and §4.1.
 */
import { randomBytes } from "node:crypto"

export const SECRET_PREFIX = "whsec_"

const KEY_BYTES = 32
const STANDARD_KEY_BYTES = { min: 24, max: 64 }

/** The text is not a signing secret. Never repeats the text. */
export class InvalidSecret extends Error {
  override readonly name = "InvalidSecret"
}

/** A new secret, as shown to its owner: `whsec_` and 32 random bytes. */
export const generateSecret = (): string => encodeSecret(randomBytes(KEY_BYTES))

export const encodeSecret = (key: Uint8Array): string =>
  SECRET_PREFIX + Buffer.from(key.buffer, key.byteOffset, key.byteLength).toString("base64")

/** The HMAC key of one of Posthorn's secrets; throws `InvalidSecret`. */
export const decodeSecret = (secret: string): Buffer => {
  const key = decode(secret)
  if (key?.length === KEY_BYTES) return key
  throw new InvalidSecret(
    "This is not a signing secret: expected whsec_ and the base64 of 32 bytes, 50 characters in all."
  )
}

/**
 * The HMAC key of any Standard Webhooks secret, 24 to 64 bytes: a receiver may share `verify` between several senders.
 */
export const decodeStandardSecret = (secret: string): Buffer => {
  const key = decode(secret)
  const { max, min } = STANDARD_KEY_BYTES
  if (key !== undefined && key.length >= min && key.length <= max) return key
  throw new InvalidSecret(
    `This is not a signing secret: expected whsec_ and the base64 of ${min} to ${max} bytes, usually 32.`
  )
}

/** Decodes only the one canonical spelling, by writing the key back. */
const decode = (secret: string): Buffer | undefined => {
  if (!secret.startsWith(SECRET_PREFIX)) return undefined
  const base64 = secret.slice(SECRET_PREFIX.length)
  const key = Buffer.from(base64, "base64")
  return key.toString("base64") === base64 ? key : undefined
}
