/**
 * A signing secret that is taken over from another sender, so that its receivers need not change: which texts are one, and
 * the HMAC key that each stands for. Pure. Source: spec §2.1.
 */
import { Either, Encoding } from "effect"

const PREFIX = "whsec_"

/** Every secret's characters and length, whatever its form. */
export const SIGNING_SECRET = /^[\x21-\x7e]{16,256}$/

/**
 * The key: the decoded base64 behind `whsec_`, else the text's own bytes. As `text`, the text's own bytes also when it begins
 * with `whsec_`. Undefined if the text is no secret.
 */
export const signingKeyOf = (secret: string, encoding?: "text"): Uint8Array | undefined => {
  if (!SIGNING_SECRET.test(secret)) return undefined
  if (encoding === "text" || !secret.startsWith(PREFIX)) return new TextEncoder().encode(secret)
  const base64 = secret.slice(PREFIX.length)
  const key = Either.getOrUndefined(Encoding.decodeBase64(base64))
  // Only the canonical spelling: a secret that was cut short decodes to another key.
  return key !== undefined && key.length >= 24 && key.length <= 64 && Encoding.encodeBase64(key) === base64
    ? key
    : undefined
}
