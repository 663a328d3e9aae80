/**
 * Explains why a delivery's signature is right or wrong, from what the receiver got and what was sent.
 *
 * It only says whether a given signature fits the given body, or the body that was sent. It makes no signature, and reveals
 * nothing about the secrets, so nobody can sign with its help. Hashing a body of 1 MiB takes milliseconds, so entries, spellings
 * and time are bounded, and other requests have their turn in between. Source: spec §4.1 and §4.6.
 */
import { createPublicKey, verify as ed25519, timingSafeEqual } from "node:crypto"
import { compact } from "@posthorn/domain/JsonText"
import { nextTurn } from "@posthorn/domain/NextTurn"
import { type HmacSignature, type RequestProfile, signaturesOf } from "@posthorn/domain/RequestProfile"
import { hmacKeysOf, readKeys } from "@posthorn/domain/SigningSecret"
import { decodePrivateKey, signWithKeys, signWithRecipe, TOLERANCE_SECONDS } from "@posthorn/signature"
import { elapsedNow } from "@posthorn/telemetry/Elapsed"
import { Effect, Redacted } from "effect"

/** Entries of `webhook-signature` that are tried, of each scheme. A delivery has at most two. */
const ENTRIES = 8
/** Processor time after which no further spelling of the body is tried. */
const BUDGET_MS = 100

export interface Received {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Known {
  readonly profile: RequestProfile
  readonly secret: Redacted.Redacted
  /** The previous ones, even after their grace window. */
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

interface Check {
  /** Which header is not there or not as it was sent; undefined if all are. */
  readonly missing: string | undefined
  readonly fits: (body: string, keys: Redacted.Redacted | null) => boolean
  /** What holds the signature; undefined for `webhook-signature`. */
  readonly header: string | undefined
  readonly isTimed: boolean
}

type HeaderOf = (name: string) => string

/** By name in any case; of a repeated header, the last. */
const headerOf = (headers: Received["headers"]): HeaderOf => {
  const lower = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value.trim()]))
  return (name) => lower.get(name.toLowerCase()) ?? ""
}

const equal = (given: string, right: string) => {
  const [one, other] = [Buffer.from(given), Buffer.from(right)]
  return one.length === other.length && timingSafeEqual(one, other)
}

const missingOf = (header: HeaderOf, names: ReadonlyArray<string>): string | undefined => {
  const absent = names.filter((name) => header(name) === "")
  if (absent.length > 0) {
    return `${absent.join(", ")} did not reach your code. Each delivery has ${names.length === 3 ? "all three" : names.join(", ")}: look for a proxy or a framework that drops or renames headers.`
  }
  if (names.includes("webhook-timestamp") && !/^(?:0|[1-9]\d{0,14})$/.test(header("webhook-timestamp"))) {
    return "webhook-timestamp is not whole Unix seconds: it was changed on its way to your code."
  }
  return names.includes("webhook-id") && header("webhook-id").includes(".")
    ? "webhook-id holds a dot, as no id of a delivery does: it was changed on its way to your code."
    : undefined
}

const standardCheck = (header: HeaderOf): Check => {
  const [id, timestamp] = [header("webhook-id"), header("webhook-timestamp")]
  return {
    missing: missingOf(header, ["webhook-id", "webhook-timestamp", "webhook-signature"]),
    header: undefined,
    isTimed: true,
    fits: (body, sealed) => {
      if (sealed === null) return false
      const { privateKey, secret } = readKeys(Redacted.value(sealed))
      const right = signWithKeys(id, timestamp, body, [hmacKeysOf(secret).standard])
      if (entriesOf(header, "v1,").some((entry) => equal(entry, right))) return true
      if (privateKey === null) return false
      const key = createPublicKey(decodePrivateKey(privateKey))
      const signed = Buffer.from(`${id}.${timestamp}.${body}`)
      return entriesOf(header, "v1a,").some((entry) =>
        ed25519(null, signed, key, Buffer.from(entry.slice("v1a,".length), "base64"))
      )
    }
  }
}

const entriesOf = (header: HeaderOf, scheme: "v1," | "v1a,") =>
  [...new Set(header("webhook-signature").split(" "))]
    .filter((entry) => entry.startsWith(scheme))
    .slice(0, ENTRIES)

const hmacCheck = (header: HeaderOf, recipe: HmacSignature): Check => {
  const uses = (name: string) => `${recipe.content}${recipe.format}`.includes(name)
  const needed = [
    ...(uses("{id}") ? ["webhook-id"] : []),
    ...(uses("{timestamp}") ? ["webhook-timestamp"] : []),
    recipe.header
  ]
  const [id, timestamp] = [header("webhook-id"), header("webhook-timestamp")]
  return {
    missing: missingOf(header, needed),
    header: recipe.header,
    isTimed: recipe.content.includes("{timestamp}"),
    fits: (body, sealed) => {
      if (sealed === null) return false
      const key = hmacKeysOf(readKeys(Redacted.value(sealed)).secret).recipe
      return equal(header(recipe.header), signWithRecipe(recipe, { id, timestamp, body }, key).trim())
    }
  }
}

/** One for each header that holds a signature. */
const checksOf = (header: HeaderOf, profile: RequestProfile): ReadonlyArray<Check> => {
  const recipes = signaturesOf(profile)
  return [
    ...(recipes.some(({ scheme }) => scheme !== "hmac") ? [standardCheck(header)] : []),
    ...recipes.flatMap((recipe) => (recipe.scheme === "hmac" ? [hmacCheck(header, recipe)] : []))
  ]
}

/** Common ways in which a body is re-serialised, one after the other; each is a text that may have been sent. */
function* respelled(body: string) {
  yield body.trim()
  yield `${body}\n`
  yield body.replaceAll("\r\n", "\n")
  yield body.replace(/^\uFEFF/, "")
  try {
    yield compact(body.trim())
    yield JSON.stringify(JSON.parse(body))
  } catch {
    // Not JSON, so it was not re-serialised.
  }
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

const bySecret = (
  known: Known,
  which: "current" | "previous",
  seconds: number,
  { header, isTimed }: Check
): SignatureExplanation => {
  const offBy = Math.abs(seconds)
  if (isTimed && offBy > TOLERANCE_SECONDS) {
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
  if (header !== undefined) {
    return {
      verdict: "previous_secret",
      explanation: `${header} is made with the secret before the last rotation: it was sent before that. This header holds one signature, so new deliveries are signed with the current secret alone: put that one into your receiver.`
    }
  }
  return {
    verdict: "previous_secret",
    explanation: past(known)
      ? "It is signed with the secret before the last rotation, and its 24 hours of grace are over: it was sent before that. New deliveries are signed with the current secret only: put that one into your receiver."
      : `It is signed with the secret before the last rotation, which signs beside the current one until ${known.previousExpiresAt}. Deliveries carry both signatures until then: put the current secret into your receiver, and compare with every entry of webhook-signature.`
  }
}

const wrong = ({ header }: Check): SignatureExplanation => ({
  verdict: "wrong_secret",
  explanation: `${header === undefined ? "No entry of webhook-signature fits" : `${header} does not fit`} this endpoint's secrets, for the body you gave or for the one that was sent. It was signed for another endpoint, before an older rotation, or by somebody else; or the headers belong to another request than the body.`
})

/** What may have been signed, each text once, the likeliest first. */
function* candidates(body: string, { sent }: Known) {
  const seen = new Set<string>()
  const texts = function* () {
    yield body
    if (sent !== null) yield sent
    yield* respelled(body)
  }
  for (const text of texts()) {
    if (seen.has(text)) continue
    seen.add(text)
    yield text
  }
}

const judge = (check: Check, body: string, seconds: number, known: Known) =>
  Effect.gen(function* () {
    const secrets = [
      ["current", known.secret],
      ["previous", known.previous]
    ] as const
    let spentMs = 0
    for (const text of candidates(body, known)) {
      for (const [which, secret] of secrets) {
        if (spentMs > BUDGET_MS) return wrong(check)
        yield* nextTurn
        const began = yield* elapsedNow
        const fits = check.fits(text, secret)
        spentMs += (yield* elapsedNow) - began
        if (fits) return text === body ? bySecret(known, which, seconds, check) : changed(body, text)
      }
    }
    return wrong(check)
  })

/** Of several signatures, those that are not given are not judged; the first that is not right decides. */
export const explainSignature = ({ body, headers }: Received, known: Known) =>
  Effect.gen(function* () {
    const header = headerOf(headers)
    const checks = checksOf(header, known.profile)
    const given = checks.filter(({ missing }) => missing === undefined)
    if (given.length === 0)
      return { verdict: "header_missing", explanation: checks[0]!.missing! } satisfies SignatureExplanation
    const seconds = Number(header("webhook-timestamp")) - Math.floor(known.now.getTime() / 1000)
    const judged = yield* Effect.forEach(given, (check) => judge(check, body, seconds, known))
    return judged.find(({ verdict }) => verdict !== "right") ?? judged[0]!
  })
