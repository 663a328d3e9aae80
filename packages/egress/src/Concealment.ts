/**
 * Hides the secrets of a request in the answer that repeats them, before anything of the answer is kept.
 *
 * A secret is found as it was sent, escaped for a URL, HTML or JSON, and in base64 or hex, also within a longer encoded text. An
 * answer is cut before it is kept, so the beginning of a secret at its end goes too. Secrets shorter than `LEAST` may stand in any
 * answer by chance, and stay. A text that was encoded twice, or compressed, is not recognised.
 *
 * The cost is linear: each secret is searched for once in each of at most nine readings of the text (Knuth, Morris and Pratt), and
 * only where its first eight characters are found. The result is cut again: what stands for a secret may be longer than it.
 * Source: spec §2.9.
 */
import type { Hidden } from "@posthorn/domain/RequestSecrets"
import type { Observation } from "@posthorn/domain/Verdict"
import { BODY_LIMIT_BYTES, within } from "./BodyPrefix.ts"
import { VALUE_LIMIT_BYTES } from "./KeptHeaders.ts"

const LEAST = 8

/** From a range of a reading to the range of the text that it was read from. */
type Origin = (from: number, to: number) => readonly [from: number, to: number]
const itself: Origin = (from, to) => [from, to]

/** `hidden`: at most 255, a secret before those that it contains. */
export const concealed = (text: string, hidden: ReadonlyArray<Hidden>, limitBytes: number): string => {
  const paint = new Uint8Array(text.length)
  let isFound = false
  const search = (reading: string, origin: Origin) => {
    for (const [n, [secret]] of hidden.entries()) {
      if (secret.length < LEAST || !reading.includes(secret.slice(0, LEAST))) continue
      occurrences(reading, secret, (begin, end) => {
        const [from, to] = origin(begin, end)
        for (let at = from; at < to; at++) if (paint[at] === 0) paint[at] = n + 1
        isFound = true
      })
    }
  }
  search(text, itself)
  if (/[%&\\+]/.test(text)) readUnescaped(text, search)
  else readEncoded(text, itself, search)
  return isFound ? within(limitBytes, repainted(text, paint, hidden)) : text
}

/** With something in the place of each painted stretch. */
const repainted = (text: string, paint: Uint8Array, hidden: ReadonlyArray<Hidden>): string => {
  const parts: Array<string> = []
  for (let from = 0, to = 0; from < text.length; from = to) {
    while (to < text.length && paint[to] === paint[from]) to++
    parts.push(paint[from] === 0 ? text.slice(from, to) : hidden[paint[from]! - 1]![1])
  }
  return parts.join("")
}

/** Each stretch of whole secrets, and the beginning of one at the end. */
const occurrences = (text: string, secret: string, found: (from: number, to: number) => void): void => {
  const length = Math.min(secret.length, text.length + 1)
  // How much of the secret's beginning ends at each of its characters.
  const borders = new Uint16Array(length)
  const longer = (matched: number, character: number): number => {
    let left = matched
    while (left > 0 && (left === length || secret.charCodeAt(left) !== character)) left = borders[left - 1]!
    return secret.charCodeAt(left) === character ? left + 1 : left
  }
  for (let n = 1; n < length; n++) borders[n] = longer(borders[n - 1]!, secret.charCodeAt(n))
  let from = 0
  let to = 0
  let matched = 0
  const add = (begin: number, end: number) => {
    if (begin > to) {
      if (to > from) found(from, to)
      from = begin
    }
    to = end
  }
  for (let at = 0; at < text.length; at++) {
    matched = longer(matched, text.charCodeAt(at))
    if (matched === secret.length) add(at + 1 - matched, at + 1)
  }
  if (matched >= LEAST) add(text.length - matched, text.length)
  if (to > from) found(from, to)
}

const ESCAPE =
  /%([0-9a-f]{2})|&(?:#(\d{2,7})|#x([0-9a-f]{2,6})|(amp|lt|gt|quot|apos));|\\(?:u([0-9a-f]{4})|([\\/"bfnrt]))/gi
/** The answer was cut within an escape. */
const TORN = /(?:%[0-9a-f]?|&[#0-9a-z]{0,8}|\\(?:u[0-9a-f]{0,3})?)$/i
const NAMED: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }
const SHORT: Readonly<Record<string, string>> = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }

const unescaped = ([, url, decimal, hex, name, json, short]: RegExpExecArray): string => {
  if (name !== undefined) return NAMED[name.toLowerCase()]!
  if (short !== undefined) return SHORT[short.toLowerCase()] ?? short
  const code = decimal === undefined ? Number.parseInt(url ?? hex ?? json!, 16) : Number(decimal)
  return String.fromCharCode(Math.min(code, 0xffff))
}

type Search = (reading: string, origin: Origin) => void

const readUnescaped = (text: string, search: Search): void => {
  const whole = text.slice(0, text.length - (TORN.exec(text.slice(-12))?.[0].length ?? 0))
  const starts: Array<number> = []
  let reading = ""
  // In a form a plus stands for a space.
  let form = ""
  let last = 0
  const read = (to: number) => {
    reading += whole.slice(last, to)
    form += whole.slice(last, to).replaceAll("+", " ")
    for (let at = last; at < to; at++) starts.push(at)
  }
  for (const match of whole.matchAll(ESCAPE)) {
    const character = unescaped(match)
    read(match.index)
    reading += character
    form += character
    starts.push(match.index)
    last = match.index + match[0].length
  }
  read(whole.length)
  starts.push(text.length)
  const origin: Origin = (from, to) => [starts[from]!, starts[to]!]
  search(reading, origin)
  if (form !== reading) search(form, origin)
  readEncoded(reading, origin, search)
}

/** How text of each encoding looks, which lines may break, and how many characters stand for a byte. */
const ENCODINGS = [
  { name: "base64", runs: /[\w+/-]+(?:\r?\n[\w+/-]+)*/g, alignments: 4, width: 4 / 3 },
  { name: "hex", runs: /[0-9a-f]+(?:\r?\n[0-9a-f]+)*/gi, alignments: 2, width: 2 }
] as const

/** Some text of an encoding: its characters, and where each of them stands. */
interface Run {
  readonly characters: string
  readonly places: ReadonlyArray<number>
}

const runsOf = (text: string, { runs, width }: (typeof ENCODINGS)[number]): ReadonlyArray<Run> =>
  [...text.matchAll(runs)]
    .filter(({ 0: run }) => run.length >= LEAST * width)
    .map(({ 0: run, index }) => {
      const places = Array.from(run, (_, n) => index + n)
      const isBreak = (at: number) => text[at] === "\r" || text[at] === "\n"
      return { characters: run.replace(/[\r\n]/g, ""), places: places.filter((at) => !isBreak(at)) }
    })

/** A secret within a longer text begins at any of the alignments. All runs are one reading, which costs less. */
const readEncoded = (text: string, origin: Origin, search: Search): void => {
  for (const encoding of ENCODINGS) {
    const { alignments, name, width } = encoding
    const runs = runsOf(text, encoding)
    if (runs.length === 0) continue
    for (let skipped = 0; skipped < alignments; skipped++) {
      const begins: Array<number> = []
      let reading = ""
      for (const { characters } of runs) {
        if (begins.length > 0) reading += "\0"
        begins.push(reading.length)
        reading += Buffer.from(characters.slice(skipped), name).toString("latin1")
      }
      search(reading, (from, to) => {
        const n = begins.findLastIndex((begin) => begin <= from)
        const { places } = runs[n]!
        const first = skipped + Math.floor((from - begins[n]!) * width)
        const last = Math.min(skipped + Math.ceil((to - begins[n]!) * width), places.length) - 1
        return origin(places[first]!, places[last]! + 1)
      })
    }
  }
}

/** What was seen, without the secrets: in the body, and in each header by itself, because a secret may look like JSON. */
export const concealedIn = (seen: Observation, hidden: ReadonlyArray<Hidden>): Observation => {
  if (hidden.length === 0) return seen
  const { responseBody, responseHeaders } = seen
  return {
    ...seen,
    responseBody: responseBody && concealed(responseBody, hidden, BODY_LIMIT_BYTES),
    ...(responseHeaders && {
      responseHeaders: JSON.stringify(
        JSON.parse(responseHeaders, (_, value) =>
          typeof value === "string" ? concealed(value, hidden, VALUE_LIMIT_BYTES) : value
        )
      )
    })
  }
}
