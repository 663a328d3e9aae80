/**
 * Ed25519 key pairs of `v1a`: `whsk_` and `whpk_` with standard base64, as Standard Webhooks spells them.
 *
 * A private key is 64 bytes, seed and public key; the seed alone (32 bytes) is taken too. A public key is 32 bytes.
 * Source: spec §4.1.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto"
import { InvalidSecret } from "./Secret.ts"

export const PRIVATE_KEY_PREFIX = "whsk_"
export const PUBLIC_KEY_PREFIX = "whpk_"

export interface KeyPair {
  readonly privateKey: string
  readonly publicKey: string
}

/** What DER (RFC 8410) puts before the 32 bytes of a private and of a public key. */
const PRIVATE_DER = Buffer.from("302e020100300506032b657004220420", "hex")
const PUBLIC_DER = Buffer.from("302a300506032b6570032100", "hex")

export const generateKeyPair = (): KeyPair => {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519")
  const seed = privateKey.export({ format: "der", type: "pkcs8" }).subarray(PRIVATE_DER.length)
  const point = publicKey.export({ format: "der", type: "spki" }).subarray(PUBLIC_DER.length)
  return {
    privateKey: PRIVATE_KEY_PREFIX + Buffer.concat([seed, point]).toString("base64"),
    publicKey: PUBLIC_KEY_PREFIX + point.toString("base64")
  }
}

/** Throws `InvalidSecret`. */
export const decodePrivateKey = (text: string): KeyObject => {
  const bytes = decode(PRIVATE_KEY_PREFIX, text)
  if (bytes?.length !== 64 && bytes?.length !== 32)
    throw new InvalidSecret("This is not a private key: expected whsk_ and the base64 of 32 or 64 bytes.")
  const der = Buffer.concat([PRIVATE_DER, bytes.subarray(0, 32)])
  return createPrivateKey({ key: der, format: "der", type: "pkcs8" })
}

/** Throws `InvalidSecret`. */
export const decodePublicKey = (text: string): KeyObject => {
  const bytes = decode(PUBLIC_KEY_PREFIX, text)
  if (bytes?.length !== 32)
    throw new InvalidSecret("This is not a public key: expected whpk_ and the base64 of 32 bytes.")
  return createPublicKey({ key: Buffer.concat([PUBLIC_DER, bytes]), format: "der", type: "spki" })
}

/** Decodes only the one canonical spelling, by writing the bytes back. */
const decode = (prefix: string, text: string): Buffer | undefined => {
  if (!text.startsWith(prefix)) return undefined
  const base64 = text.slice(prefix.length)
  const bytes = Buffer.from(base64, "base64")
  return bytes.toString("base64") === base64 ? bytes : undefined
}
