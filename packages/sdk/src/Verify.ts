/**
 * The receiver's half of the signature, with the Web Crypto of browsers' workers and of Node.
 *
 * The rules are those of `@posthorn/signature`, which is for Node alone: the raw body, any secret against any entry, five minutes on
 * either side, one spelling of a digest. It rejects instead of resolving to false: a receiver that forgets to look would accept
 * everything. It does not deduplicate: remember the id. Source: docs/receive.md.
 */

export const TOLERANCE_SECONDS = 300

export interface ToVerify {
  /** `whsec_` secrets and `whpk_` public keys that may have signed: after a rotation the new one and the old one. */
  readonly secrets: string | ReadonlyArray<string>
  /** `Headers`, or a plain object such as Node's `request.headers`; names in any case. */
  readonly headers:
    | { readonly get: (name: string) => string | null }
    | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  /** The raw body: JSON that was parsed and written again has another signature. */
  readonly body: string | Uint8Array
  /** The receiver's clock in Unix seconds. */
  readonly now?: number
}

export interface Verified {
  /** Deduplicate by this: it is the same for every automatic retry. */
  readonly id: string
  /** When it was signed, in Unix seconds. */
  readonly timestamp: number
}

export type VerificationFailure =
  | "missing_header"
  | "malformed_header"
  | "timestamp_too_old"
  | "timestamp_too_new"
  | "signature_mismatch"

/** The signature does not prove that the request comes from Posthorn: answer 401 and ignore the request. */
export class VerificationError extends Error {
  override readonly name = "VerificationError"
  readonly reason: VerificationFailure

  constructor(reason: VerificationFailure, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Rejects with `VerificationError` when the request is refused, with `TypeError` when a secret is none. */
export const verify = async ({ body, headers, now, secrets }: ToVerify): Promise<Verified> => {
  const keys = await Promise.all([secrets].flat().map(keyOf))
  if (keys.length === 0) throw new TypeError("Verifying needs at least one secret.")
  const [id, timestamp, signatures] = [
    header(headers, "webhook-id"),
    header(headers, "webhook-timestamp"),
    header(headers, "webhook-signature")
  ]
  if (id.includes(".")) throw new VerificationError("malformed_header", "webhook-id contains a dot.")
  if (!/^(?:0|[1-9]\d{0,14})$/.test(timestamp))
    throw new VerificationError("malformed_header", "webhook-timestamp is not a number of Unix seconds.")
  const ahead = Number(timestamp) - (now ?? Math.floor(Date.now() / 1000))
  if (!(Math.abs(ahead) <= TOLERANCE_SECONDS))
    throw ahead > 0
      ? new VerificationError("timestamp_too_new", "The timestamp lies in the future: check both clocks.")
      : new VerificationError("timestamp_too_old", "The timestamp is too old: a late or repeated request.")
  const signed = joined(`${id}.${timestamp}.`, body)
  const verdicts = await Promise.all(
    signatures.split(" ").flatMap((entry) => keys.map((key) => isSignedBy(key, entry, signed)))
  )
  if (!verdicts.includes(true))
    throw new VerificationError(
      "signature_mismatch",
      "No signature matches: check that the secret is this endpoint's and that the body is the raw one."
    )
  return { id, timestamp: Number(timestamp) }
}

type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>

const keyOf = async (secret: string): Promise<Key> => {
  const isPublic = secret.startsWith("whpk_")
  const bytes = decoded(secret.replace(/^wh(?:sec|pk)_/, ""))
  if (isPublic && bytes?.length === 32)
    return await crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"])
  if (secret.startsWith("whsec_") && bytes !== undefined && bytes.length >= 24 && bytes.length <= 64)
    return await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
  throw new TypeError(
    "This is not a signing secret: expected whsec_ or whpk_ and base64, usually of 32 bytes."
  )
}

/** The library compares in constant time. */
const isSignedBy = async (key: Key, entry: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> => {
  const prefix = key.algorithm.name === "HMAC" ? "v1," : "v1a,"
  const digest = entry.startsWith(prefix) ? decoded(entry.slice(prefix.length)) : undefined
  return digest !== undefined && (await crypto.subtle.verify(key.algorithm.name, key, digest, signed))
}

/** Only the one canonical spelling, with padding. */
const decoded = (base64: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    const binary = atob(base64)
    return btoa(binary) === base64 ? Uint8Array.from(binary, (char) => char.charCodeAt(0)) : undefined
  } catch {
    return undefined
  }
}

const joined = (prefix: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> => {
  const [head, rest] = [
    new TextEncoder().encode(prefix),
    typeof body === "string" ? new TextEncoder().encode(body) : body
  ]
  const bytes = new Uint8Array(head.length + rest.length)
  bytes.set(head)
  bytes.set(rest, head.length)
  return bytes
}

const header = (headers: ToVerify["headers"], name: string): string => {
  const values =
    typeof headers.get === "function"
      ? [headers.get(name)]
      : Object.entries(headers).flatMap(([key, value]) => (key.toLowerCase() === name ? value : []))
  if (values.length > 1) throw new VerificationError("malformed_header", `${name} came more than once.`)
  const value = values[0]
  if (typeof value !== "string" || value === "")
    throw new VerificationError("missing_header", `The header ${name} is missing.`)
  return value
}
