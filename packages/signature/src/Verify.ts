/**
 * The receiver's half of the signature.
 *
 * Takes the raw body, before any parsing: re-serialised JSON has another signature. Tries each secret against each `v1` entry
 * and each public key against each `v1a` entry, so a rotation needs no moment in which both sides change, and skips entries of
 * other versions. Compares in constant time, as text: a digest in another spelling (hex, URL-safe base64) is another digest.
 * Refuses a timestamp more than five minutes off in either direction.
 *
 * It throws instead of returning false: a receiver that forgot to check the result would accept everything. Does not
 * deduplicate: remember the id durably, at least as long as the sender retries. Source: spec §4.1, rule 5.
 */
import { verify as ed25519, KeyObject, timingSafeEqual } from "node:crypto"
import { decodePublicKey, PUBLIC_KEY_PREFIX } from "./KeyPair.ts"
import { decodeStandardSecret } from "./Secret.ts"
import { signedBytes, signWithKeys } from "./Sign.ts"

export const TOLERANCE_SECONDS = 300

/** Fetch `Headers`, or a plain object such as `IncomingMessage.headers`; names in any case. */
export type HeadersLike =
  | { readonly get: (name: string) => string | null }
  | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

export interface ToVerify {
  /** `whsec_` secrets and `whpk_` public keys that may have signed: after a rotation the new one and the old one. */
  readonly secrets: string | ReadonlyArray<string>
  readonly headers: HeadersLike
  /** The raw body. Prefer bytes: text that was decoded with replacement characters is no longer what was signed. */
  readonly body: string | Uint8Array
  /** The receiver's clock in Unix seconds. */
  readonly now?: number
  readonly toleranceSeconds?: number
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

/** The signature does not prove that the request comes from the sender: answer 400 or 401, and ignore the request. */
export class VerificationError extends Error {
  override readonly name = "VerificationError"
  readonly reason: VerificationFailure

  constructor(reason: VerificationFailure, message: string) {
    super(message)
    this.reason = reason
  }
}

/** Whole seconds without sign, spaces or leading zeros: the only form that senders write. */
const TIMESTAMP = /^(?:0|[1-9]\d{0,14})$/

/** Throws `VerificationError` if the request is refused; `InvalidSecret` or `TypeError` if the receiver is misconfigured. */
export const verify = (request: ToVerify): Verified => {
  const keys = [request.secrets].flat().map(decodeVerifyingKey)
  if (keys.length === 0) throw new TypeError("Verifying needs at least one secret.")
  const id = header(request.headers, "webhook-id")
  const timestamp = header(request.headers, "webhook-timestamp")
  const signature = header(request.headers, "webhook-signature")
  if (id.includes("."))
    throw new VerificationError("malformed_header", "The webhook-id header contains a dot.")
  if (!TIMESTAMP.test(timestamp)) {
    throw new VerificationError(
      "malformed_header",
      "The webhook-timestamp header is not a number of Unix seconds."
    )
  }
  checkClock(Number(timestamp), request)
  const prefix = `${id}.${timestamp}.`
  const expected = keys.map((key) =>
    key instanceof KeyObject
      ? byPublicKey(key, signedBytes(prefix, request.body))
      : equalTo(Buffer.from(signWithKeys(id, timestamp, request.body, [key])))
  )
  if (!anyMatches(signature, expected)) {
    throw new VerificationError(
      "signature_mismatch",
      "No signature matches: check that the secret is this endpoint's and that the body is the raw one."
    )
  }
  return { id, timestamp: Number(timestamp) }
}

const checkClock = (timestamp: number, request: ToVerify): void => {
  const ahead = timestamp - (request.now ?? Math.floor(Date.now() / 1000))
  const tolerance = request.toleranceSeconds ?? TOLERANCE_SECONDS
  // Written so that a NaN is refused.
  if (Math.abs(ahead) <= tolerance) return
  throw ahead > 0
    ? new VerificationError(
        "timestamp_too_new",
        "The timestamp lies in the future: check the clocks on both sides."
      )
    : new VerificationError("timestamp_too_old", "The timestamp is too old: a late or repeated request.")
}

/** Whether an entry of the header is right. */
type Fits = (entry: string) => boolean

const equalTo =
  (one: Buffer): Fits =>
  (entry) => {
    const given = Buffer.from(entry)
    return given.length === one.length && timingSafeEqual(given, one)
  }

const byPublicKey =
  (key: KeyObject, signed: Buffer): Fits =>
  (entry) => {
    if (!entry.startsWith("v1a,")) return false
    const base64 = entry.slice("v1a,".length)
    const signature = Buffer.from(base64, "base64")
    return signature.toString("base64") === base64 && ed25519(null, signed, key, signature)
  }

/** Compares every pair, even after a match. */
const anyMatches = (signature: string, expected: ReadonlyArray<Fits>): boolean => {
  let matches = 0
  for (const entry of signature.split(" ")) {
    for (const fits of expected) if (fits(entry)) matches += 1
  }
  return matches > 0
}

const decodeVerifyingKey = (secret: string): Buffer | KeyObject =>
  secret.startsWith(PUBLIC_KEY_PREFIX) ? decodePublicKey(secret) : decodeStandardSecret(secret)

const header = (headers: HeadersLike, name: string): string => {
  const values =
    typeof headers.get === "function" ? [headers.get(name)] : valuesOf(headers as PlainHeaders, name)
  const value = values[0]
  if (values.length > 1)
    throw new VerificationError("malformed_header", `The ${name} header came more than once.`)
  if (typeof value !== "string" || value === "") {
    throw new VerificationError("missing_header", `The ${name} header is missing.`)
  }
  return value
}

type PlainHeaders = Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

const valuesOf = (headers: PlainHeaders, name: string): ReadonlyArray<string | undefined> =>
  Object.keys(headers)
    .filter((key) => key.toLowerCase() === name)
    .flatMap((key) => headers[key])
