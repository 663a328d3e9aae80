/**
 * Which URLs a webhook may be delivered to: one rule for create, update and dispatch.
 *
 * The text is parsed once, by the WHATWG parser. A valid URL is stored and dispatched in its serialised form, without the
 * fragment, so exactly the validated URL is connected to; validating that form again gives the same form. The clauses:
 *
 *   (1) `https:`                                   (4) an address is globally reachable unicast, plainly written
 *   (2) no credentials, not even an empty `@`      (5) a name has two labels or more, and is no internal one
 *   (3) not localhost, nor under `.localhost`      (6) at most 2,048 characters
 *
 * An operator's allowed targets waive (3) to (5), and (1) for `http:`. If the parser would have to repair the text (missing
 * slashes, backslashes, control characters, disguised letters in the host), it is refused, because programs disagree about the
 * host of such a text. Does not resolve names: the worker's connection guard does that, with `isRefusedAddress`.
 *
 * Pure, no node: imports. Source: spec §2.1 and §2.8; test/corpora/urls.json decides in case of doubt.
 */
import { Either } from "effect"
import { type AllowedTargets, allowsHost } from "./AllowedTargets.ts"
import { isRefusedAddress } from "./IpAddress.ts"

export const URL_LIMIT = 2_048

const sentences = {
  malformed: "This is not a complete URL: write one such as https://example.com/hook.",
  not_https: "The URL must start with https://.",
  credentials: "The URL must not hold credentials: remove everything up to the @ in front of the host.",
  localhost:
    "The URL points at localhost, which Posthorn cannot deliver to: use a host that is reachable from the internet.",
  private_address:
    "The URL points at a private or reserved address: use a host that is reachable from the internet.",
  address_spelling: "Write the IP address in its plain form, such as 203.0.113.9.",
  single_label: "The host has only one part: use a full name such as hooks.example.com.",
  internal_name:
    "The host's name exists only inside networks: use a name that is reachable from the internet.",
  invalid_host:
    "The host is not a valid name: use parts of letters, digits and hyphens, at most 63 characters each, without a dot at either end.",
  ambiguous:
    "Programs read this URL in different ways: write it plainly, such as https://example.com/hook, with plain letters in the host and without control characters or backslashes.",
  too_long: `The URL is longer than ${URL_LIMIT} characters, counted after encoding: shorten it.`
} as const

type InvalidUrlReason = keyof typeof sentences

export const invalidUrlReasons = Object.keys(sentences) as ReadonlyArray<InvalidUrlReason>

/** What is wrong and what to do, for people. */
export const describeReason = (reason: string): string =>
  reason in sentences
    ? sentences[reason as InvalidUrlReason]
    : "This URL cannot be delivered to. Use a public https URL."

/** The form to store and dispatch, or why there is none. */
export const validateWebhookUrl = (
  raw: string,
  allowed: AllowedTargets
): Either.Either<string, InvalidUrlReason> => {
  if (raw.length > URL_LIMIT) return Either.left("too_long")
  const url = parse(raw)
  if (url === undefined)
    return Either.left(SCHEME.test(raw) && !/^https:/i.test(raw) ? "not_https" : "malformed")
  const authority = authorityOf(raw)
  const waived = allowed.entries.length > 0 && allowsHost(allowed, url.hostname, portOf(url))
  const reason =
    schemeReason(url, waived && allowed.allowHttp) ??
    (authority.includes("@") || url.username !== "" || url.password !== "" ? "credentials" : undefined) ??
    (waived ? undefined : hostReason(url.hostname, authority)) ??
    (url.port === "0" ? "malformed" : undefined) ??
    (isAmbiguous(raw, authority) ? "ambiguous" : undefined)
  if (reason !== undefined) return Either.left(reason)
  url.hash = ""
  return url.href.length > URL_LIMIT ? Either.left("too_long") : Either.right(url.href)
}

const SCHEME = /^[a-z][a-z0-9+.-]*:/i

const parse = (raw: string): URL | undefined => {
  try {
    return new URL(raw)
  } catch {
    return undefined
  }
}

const portOf = (url: URL): number =>
  url.port === "" ? (url.protocol === "http:" ? 80 : 443) : Number(url.port)

const schemeReason = (url: URL, allowHttp: boolean): InvalidUrlReason | undefined =>
  url.protocol === "https:" || (allowHttp && url.protocol === "http:") ? undefined : "not_https"

/** The text between the slashes and the path, as written: the parser drops an empty `@`. */
const authorityOf = (raw: string): string => {
  const text = raw.replace(/^[\x00-\x20]+|[\x00-\x20]+$|[\t\n\r]+/g, "")
  return /^[^:/?#]+:[\\/]*([^\\/?#]*)/.exec(text)?.[1] ?? ""
}

const V4 = /^\d+\.\d+\.\d+\.\d+$/

/** Clauses 3 to 5. */
const hostReason = (hostname: string, authority: string): InvalidUrlReason | undefined => {
  if (hostname.startsWith("[")) return isRefusedAddress(hostname.slice(1, -1)) ? "private_address" : undefined
  if (!V4.test(hostname)) return nameReason(hostname)
  if (isRefusedAddress(hostname)) return "private_address"
  return authority.replace(/:\d*$/, "") === hostname ? undefined : "address_spelling"
}

/** Names used only inside networks. `.localdomain6` is in the /etc/hosts of old distributions. */
const INTERNAL = /\.(?:localdomain6?|local|internal|lan|home|home\.arpa|corp|intranet|svc)$/

/** The characters allowed in DNS and certificates; the parser also accepts `*` and others. */
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/

const nameReason = (hostname: string): InvalidUrlReason | undefined => {
  const host = hostname.endsWith(".") ? hostname.slice(0, -1) : hostname
  if (host === "localhost" || host.endsWith(".localhost")) return "localhost"
  const labels = host.split(".")
  if (labels.includes("")) return "invalid_host"
  if (labels.length < 2) return "single_label"
  if (INTERNAL.test(host)) return "internal_name"
  // A final dot is legal in DNS, but not in certificates and virtual hosts.
  const fits = host === hostname && host.length <= 253 && labels.every((label) => LABEL.test(label))
  return fits ? undefined : "invalid_host"
}

const CONTROL = /[\x00-\x1f\x7f]/
const LONE_SURROGATE = /\p{Surrogate}/u
const PLAIN_START = /^ *https?:\/\/[^\\/]/i
/** Invisible in a host; the two joiners, U+200C and U+200D, are letters of some scripts and judged by the parser. */
const INVISIBLE = /(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}/u

/** Whether the parser had to repair the text. Trimming spaces and encoding path or query do not count. */
const isAmbiguous = (raw: string, authority: string): boolean =>
  CONTROL.test(raw) ||
  LONE_SURROGATE.test(raw) ||
  !PLAIN_START.test(raw) ||
  /^[^?#]*\\/.test(raw) ||
  authority.includes("%") ||
  INVISIBLE.test(authority) ||
  // Fullwidth, circled and other stand-ins for plain letters.
  plainDots(authority).normalize("NFC") !== plainDots(authority).normalize("NFKC")

/** East Asian full stops are dots by the rules of international names (UTS 46), so they are no disguise. */
const plainDots = (authority: string) => authority.replace(/[\u3002\uff0e\uff61]/g, ".")
