/**
 * The text of an API token: `phk_<id>_<secret>_<checksum>`.
 *
 * The id finds the row, and the 256-bit secret proves possession. The CRC-32 reveals a typing error at once without the
 * database, and helps secret scanners. A random 256-bit secret needs no slow hash: its SHA-256 is stored.
 * Source: spec §5.1.
 */
import { hash, randomBytes, timingSafeEqual } from "node:crypto"
import { crc32 } from "node:zlib"
import { prefixes, type TokenId } from "@posthorn/domain/Ids"
import { Redacted } from "effect"

const TOKEN = /^phk_([0-9a-f]{29})_([0-9a-f]{64})_([0-9a-f]{8})$/

const checksum = (text: string) => crc32(text).toString(16).padStart(8, "0")

export const hashSecret = (secret: string): Buffer => hash("sha256", secret, "buffer")

export const issue = (tokenId: TokenId) => {
  const secret = randomBytes(32).toString("hex")
  const body = `phk_${tokenId.slice(prefixes.token.length)}_${secret}`
  return { text: Redacted.make(`${body}_${checksum(body)}`), secretHash: hashSecret(secret) }
}

/** The id and secret of a token text, or undefined when it is not one. */
export const read = (token: string): { readonly tokenId: TokenId; readonly secret: string } | undefined => {
  const match = TOKEN.exec(token)
  if (match === null) return undefined
  const body = token.slice(0, token.lastIndexOf("_"))
  if (checksum(body) !== match[3]) return undefined
  return { tokenId: `${prefixes.token}${match[1]}`, secret: match[2]! }
}

export const matches = (secret: string, secretHash: Uint8Array): boolean =>
  timingSafeEqual(hashSecret(secret), secretHash)
