/**
 * Explains why a delivery's signature is right or wrong, from what the receiver got and what was sent. Pure.
 *
 * It only says whether a given signature fits the given body, or the body that was sent. It makes no signature, and reveals
 * nothing about the secrets, so nobody can sign with its help. Source: spec §4.1 and §4.6.
 */
import { timingSafeEqual } from "node:crypto"
import { compact } from "@posthorn/domain/JsonText"
import { decodeKey, signWithKeys, TOLERANCE_SECONDS } from "@posthorn/signature"
import { Redacted } from "effect"

export interface Received {
  readonly headers: Readonly<Record<string, string>>
  /** The raw body. */
  readonly body: string
}

export interface Known {
  readonly secret: Redacted.Redacted
  /** The previous one, even after its grace window. */
  readonly previous: Redacted.Redacted | null
  readonly previousExpiresAt: string | null
  /** The body of the delivery with this `webhook-id`; null if it is gone, or not this endpoint's. */
  readonly sent: string | null
  readonly now: Date
}

export type Verdict =
  | "right"
  | "previous_secret"
  | "body_changed"
  | "timestamp_off"
  | "header_missing"
  | "wrong_secret"

export interface SignatureExplanation {
  readonly verdict: Verdict
  readonly explanation: string
}

const NAMES = ["webhook-id", "webhook-timestamp", "webhook-signature"] as const

/** The three headers by lower-case name; of a repeated header, the last. */
const threeOf = (headers: Received["headers"]) => {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]))
  return Object.fromEntries(NAMES.map((name) => [name, lower.get(name) ?? ""])) as Record<
    (typeof NAMES)[number],
    string
  >
}

type Three = ReturnType<typeof threeOf>

const fits = (headers: Three, body: string, secret: Redacted.Redacted | null) => {
  if (secret === null) return false
  const key = decodeKey(Redacted.value(secret))
  const right = Buffer.from(signWithKeys(headers["webhook-id"], headers["webhook-timestamp"], body, [key]))
  return headers["webhook-signature"]
    .split(" ")
    .map((entry) => Buffer.from(entry))
    .some((entry) => entry.length === right.length && timingSafeEqual(entry, right))
}

const missing = (headers: Three): string | undefined => {
  const absent = NAMES.filter((name) => headers[name] === "")
  if (absent.length > 0) {
    return `${absent.join(", ")} did not reach your code. Each delivery has all three: look for a proxy or a framework that drops or renames headers.`
  }
  if (!/^(?:0|[1-9]\d{0,14})$/.test(headers["webhook-timestamp"])) {
    return "webhook-timestamp is not whole Unix seconds: it was changed on its way to your code."
  }
  return headers["webhook-id"].includes(".")
    ? "webhook-id holds a dot, as no id of a delivery does: it was changed on its way to your code."
    : undefined
}

/** Common ways in which a body is re-serialised; each returns the text that may have been sent. */
const respelled = (body: string): ReadonlyArray<string> => {
  const texts = [body.trim(), `${body}\n`, body.replaceAll("\r\n", "\n"), body.replace(/^\uFEFF/, "")]
  try {
    texts.push(compact(body.trim()), JSON.stringify(JSON.parse(body)))
  } catch {
    // Not JSON, so it was not re-serialised.
  }
  return texts.filter((text) => text !== body)
}

const sameJson = (a: string, b: string) => {
  try {
    return JSON.stringify(JSON.parse(a)) === JSON.stringify(JSON.parse(b))
  } catch {
    return false
  }
}

const isSpacedAnew = (a: string, b: string) => {
  try {
    JSON.parse(a)
    return compact(a.trim()) === compact(b.trim())
  } catch {
    return a.trim() === b.trim()
  }
}

const howChanged = (body: string, sent: string): string => {
  if (body === "") return "the body is empty: it was read, or thrown away, before your code looked"
  if (isSpacedAnew(body, sent)) return "white space was added or taken away"
  if (sameJson(body, sent)) return "it was parsed and written anew, which spells numbers or text differently"
  return sent.startsWith(body.trimEnd()) ? "its end is missing" : "its content is not what was sent"
}

const VERIFY_RAW =
  "Verify the bytes as they came, before any parsing: read the raw body, and give those bytes to the verifier."

const changed = (body: string, sent: string): SignatureExplanation => ({
  verdict: "body_changed",
  explanation: `The signature is right for what was sent, but the body you gave is another: ${howChanged(body, sent)}. ${VERIFY_RAW}`
})

const past = ({ now, previousExpiresAt }: Known) =>
  previousExpiresAt !== null && Date.parse(previousExpiresAt) <= now.getTime()

const bySecret = (known: Known, which: "current" | "previous", seconds: number): SignatureExplanation => {
  const offBy = Math.abs(seconds)
  if (offBy > TOLERANCE_SECONDS) {
    const direction = seconds > 0 ? "ahead of" : "behind"
    return {
      verdict: "timestamp_off",
      explanation: `The signature is right, but webhook-timestamp is ${offBy} s ${direction} this server's clock, and receivers refuse more than ${TOLERANCE_SECONDS} s. If you got it long ago, it was right then and your receiver has it right; if just now, check the receiver's clock, or what delays or repeats requests on their way.`
    }
  }
  if (which === "current") {
    return {
      verdict: "right",
      explanation:
        "Headers and body fit the endpoint's current secret, and the time is right. If your receiver refuses this request, it verifies with another secret, or another body than the one you gave here."
    }
  }
  return {
    verdict: "previous_secret",
    explanation: past(known)
      ? "It is signed with the secret before the last rotation, and its 24 hours of grace are over: it was sent before that. New deliveries are signed with the current secret only: put that one into your receiver."
      : `It is signed with the secret before the last rotation, which signs beside the current one until ${known.previousExpiresAt}. Deliveries carry both signatures until then: put the current secret into your receiver, and compare with every entry of webhook-signature.`
  }
}

const WRONG: SignatureExplanation = {
  verdict: "wrong_secret",
  explanation:
    "No entry of webhook-signature fits this endpoint's secrets, for the body you gave or for the one that was sent. It was signed for another endpoint, before an older rotation, or by somebody else; or the headers belong to another request than the body."
}

export const explainSignature = ({ body, headers: all }: Received, known: Known): SignatureExplanation => {
  const headers = threeOf(all)
  const lack = missing(headers)
  if (lack !== undefined) return { verdict: "header_missing", explanation: lack }
  const { previous, secret, sent } = known
  const seconds = Number(headers["webhook-timestamp"]) - Math.floor(known.now.getTime() / 1000)
  if (fits(headers, body, secret)) return bySecret(known, "current", seconds)
  if (fits(headers, body, previous)) return bySecret(known, "previous", seconds)
  const original = [...(sent === null ? [] : [sent]), ...respelled(body)].find(
    (text) => fits(headers, text, secret) || fits(headers, text, previous)
  )
  return original === undefined ? WRONG : changed(body, original)
}
