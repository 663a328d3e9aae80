/**
 * An endpoint's signing keys as text: how they are sealed, and which secrets of another sender can be taken over, so that its
 * receivers need not change. Pure. Source: spec §2.1 and §2.9.
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

/** What an endpoint signs with. */
export interface SigningKeys {
  /** `whsec_…` if Posthorn made it, else as `takenOver` writes it. */
  readonly secret: string
  /** `whsk_…`; null as long as the endpoint has no key pair. */
  readonly privateKey: string | null
}

const TAKEN_OVER = "taken_"

/** A secret that was taken over, as it is sealed whatever its form. */
export const takenOver = (key: Uint8Array): string => TAKEN_OVER + Encoding.encodeBase64(key)

/** As they are sealed: one text, so that secret and key pair rotate together. */
export const writeKeys = ({ privateKey, secret }: SigningKeys): string =>
  privateKey === null ? secret : `${secret} ${privateKey}`

export const readKeys = (text: string): SigningKeys => {
  const [secret = "", privateKey = null] = text.split(" ")
  return { secret, privateKey }
}

/**
 * The HMAC keys of a secret as it is sealed. A recipe chooses what it signs, so it has another key than standard signatures, and
 * can forge none: the whole text's bytes. Senders that were moved used one key for all, so a secret that was taken over is both.
 */
export const hmacKeysOf = (
  secret: string
): { readonly standard: Uint8Array; readonly recipe: Uint8Array } => {
  const [, prefix, base64] = /^(whsec_|taken_)(.*)$/.exec(secret) ?? []
  const standard = Either.getOrThrow(Encoding.decodeBase64(base64 ?? ""))
  return { standard, recipe: prefix === TAKEN_OVER ? standard : new TextEncoder().encode(secret) }
}
