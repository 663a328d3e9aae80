/**
 * The sender's half of the signature.
 *
 *   signed bytes   UTF-8 of `<webhook-id>.<webhook-timestamp>.<raw body>`
 *   entry          `v1,` and the standard base64 of HMAC-SHA256 over them
 *   header         one entry for each key, the current key first, separated by single spaces
 *
 * Source: spec §4.1, signing rules 1 to 4.
 */
import { createHmac } from "node:crypto"
import { decodeStandardSecret } from "./Secret.ts"

export interface ToSign {
  /** Value of `webhook-id`; without a dot, as the dot separates what is signed. */
  readonly id: string
  /** Value of `webhook-timestamp`: Unix seconds. */
  readonly timestamp: number
  /** The body exactly as sent. Text is signed as UTF-8. */
  readonly body: string | Uint8Array
  /** `whsec_` secrets, the current one first. */
  readonly secrets: ReadonlyArray<string>
}

/** The value of `webhook-signature`; throws on what no receiver could verify. */
export const sign = ({ body, id, secrets, timestamp }: ToSign): string => {
  if (id === "" || id.includes("."))
    throw new TypeError("The webhook-id to sign must not be empty or contain a dot.")
  if (!Number.isSafeInteger(timestamp) || timestamp < 0) {
    throw new TypeError("The timestamp to sign must be whole Unix seconds, such as 1767225600.")
  }
  if (secrets.length === 0) throw new TypeError("Signing needs at least one secret.")
  return signWithKeys(id, timestamp, body, secrets.map(decodeStandardSecret))
}

/** The same for keys already decoded, without checks: the worker's hot path, 1.5 us a key for a body of 300 bytes. */
export const signWithKeys = (
  id: string,
  timestamp: number | string,
  body: string | Uint8Array,
  keys: ReadonlyArray<Uint8Array>
): string => {
  const prefix = `${id}.${timestamp}.`
  let header = ""
  for (const key of keys) header += `${header === "" ? "" : " "}v1,${digest(key, prefix, body)}`
  return header
}

const digest = (key: Uint8Array, prefix: string, body: string | Uint8Array): string =>
  createHmac("sha256", key).update(prefix).update(body).digest("base64")
