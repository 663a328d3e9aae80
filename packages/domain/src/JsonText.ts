/**
 * JSON carried as text, losslessly: a payload reaches the receiver as it was published.
 *
 * `JSON.parse` and `JSON.stringify` lose the spelling of numbers (1.0, 1e3, 2^53 + 1) and move integer-like names to
 * the front; a slice of the text keeps everything, escapes and lone surrogates included. `parseJson` cuts the slices out, and
 * `stringify` writes them back verbatim. `JSON.parse` still checks the syntax. Pure. Source: spec §2.7.
 */
import { Either } from "effect"
import {
  cut,
  endOfString,
  type Found,
  isSpace,
  planOf,
  type Slice,
  TooDeep,
  TooMany
} from "./internal/JsonScan.ts"

/** Most levels of arrays and objects inside a raw value; a scalar has none. */
export const MAX_RAW_DEPTH = 100

/** Most levels around and beside the raw values. */
export const MAX_DEPTH = 128

/**
 * Most values, of which a raw one counts as one: several times as many as the longest batch has. Without this limit, 500,000
 * values in 1 MiB would cost 300 ms before they could be refused.
 */
export const MAX_VALUES = 10_000

/** JSON text that is written unchanged. It must be valid JSON: it is not checked again. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Within `stringify` a marker; elsewhere the value, as precisely as JavaScript can represent it. */
  toJSON(): unknown {
    if (collected === undefined) return JSON.parse(this.text)
    collected.push(this.text)
    return MARKER
  }
}

/** Random and secret, so that no caller's string can equal it. */
const MARKER = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(15))))
const WRITTEN_MARKER = `"${MARKER}"`

/** The texts that the running `stringify` has met. */
let collected: Array<string> | undefined

/** Like `JSON.stringify`, with each `JsonText` verbatim. A value without a JSON form (undefined, a function) becomes `null`. */
export const stringify = (value: unknown): string => {
  if (value instanceof JsonText) return value.text
  const outer = collected
  const texts: Array<string> = []
  collected = texts
  try {
    const written = JSON.stringify(value) ?? "null"
    return texts.length === 0 ? written : splice(written, texts)
  } finally {
    collected = outer
  }
}

const splice = (written: string, texts: ReadonlyArray<string>): string => {
  let out = ""
  let from = 0
  for (const text of texts) {
    const at = written.indexOf(WRITTEN_MARKER, from)
    if (at < 0)
      throw new Error("A toJSON method called JSON.stringify on a JsonText; call stringify of this module.")
    out += written.slice(from, at) + text
    from = at + WRITTEN_MARKER.length
  }
  return out + written.slice(from)
}

export interface JsonProblem {
  readonly reason: "syntax" | "too_deep" | "too_many"
  /** For people; repeats nothing of the text. */
  readonly message: string
  /** JSON pointer to the raw value that is too deep; "" for the whole text. */
  readonly path: string
}

interface ParseOptions {
  /** Most levels of a raw value. Defaults to `MAX_RAW_DEPTH`. */
  readonly rawDepth?: number
  /** Most values; a raw one counts as one. Defaults to `MAX_VALUES`. */
  readonly values?: number
  /** Do not check the syntax of the raw values: `rawProblem`, or whoever parses them, does that. */
  readonly rawUnparsed?: boolean
}

/** For a text that was parsed within bounds before. */
export const UNBOUNDED: ParseOptions = {
  rawDepth: 100_000,
  rawUnparsed: true,
  values: Number.POSITIVE_INFINITY
}

/**
 * Parses, with the values at the `raw` paths as `JsonText`. A path is member names from the top, and `*` for every
 * element of an array; a path that is not there is no problem. Of a member named twice the last one counts.
 */
export const parseJson = (
  text: string,
  raw: ReadonlyArray<ReadonlyArray<string>>,
  { rawDepth = MAX_RAW_DEPTH, rawUnparsed = false, values = MAX_VALUES }: ParseOptions = {}
): Either.Either<unknown, JsonProblem> => {
  let found: Found
  try {
    found = cut(text, planOf(raw), { inside: rawDepth, outside: MAX_DEPTH, values })
  } catch (error) {
    if (error instanceof TooMany) return Either.left({ reason: "too_many", message: error.message, path: "" })
    if (!(error instanceof TooDeep)) throw error
    return Either.left({ reason: "too_deep", message: error.message, path: error.path })
  }
  const parsed = Either.try(() => JSON.parse(rawUnparsed ? outline(text, found) : text) as unknown)
  return Either.mapBoth(parsed, {
    onLeft: () => syntaxProblem(text),
    onRight: (value) => graft(text, value, found)
  })
}

/**
 * The text with `""` in place of each slice. It and each slice are valid JSON exactly if the whole text is. (`""` is safe
 * because a string, unlike a number, cannot merge with the text that follows.)
 */
const outline = (text: string, found: Found): string => {
  let out = ""
  let from = 0
  for (const { end, start } of slicesOf(found).toSorted((one, other) => one.start - other.start)) {
    out += `${text.slice(from, start)}""`
    from = end
  }
  return out + text.slice(from)
}

const slicesOf = (found: Found): ReadonlyArray<Slice> =>
  found === undefined ? [] : "start" in found ? [found] : [...found.values()].flatMap(slicesOf)

/** The syntax error of the first invalid raw value. Costs as much as parsing them. */
export const rawProblem = (
  value: unknown,
  raw: ReadonlyArray<ReadonlyArray<string>>
): JsonProblem | undefined => {
  for (const path of raw) {
    const problem = problemAt(value, path, "")
    if (problem !== undefined) return problem
  }
  return undefined
}

const problemAt = (
  value: unknown,
  [name, ...rest]: ReadonlyArray<string>,
  path: string
): JsonProblem | undefined => {
  if (value instanceof JsonText) {
    const judged = Either.try(() => JSON.parse(value.text) as unknown)
    return Either.isRight(judged) ? undefined : { ...syntaxProblem(value.text), path }
  }
  if (name === undefined || typeof value !== "object" || value === null) return undefined
  if (name !== "*") return problemAt((value as Record<string, unknown>)[name], rest, `${path}/${name}`)
  if (!Array.isArray(value)) return undefined
  for (const [index, item] of value.entries()) {
    const problem = problemAt(item, rest, `${path}/${index}`)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** The engine's message may quote the text, so only the position at the end of some messages is passed on. */
const syntaxProblem = (text: string): JsonProblem => {
  let position: RegExpExecArray | null = null
  try {
    JSON.parse(text)
  } catch (error) {
    position = / at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(String(error))
  }
  const where = position === null ? "" : `: look at character ${Number(position[1]) + 1}`
  return { reason: "syntax", message: `This is not valid JSON${where}.`, path: "" }
}

/** Replaces the parsed values by their slices. */
const graft = (text: string, value: unknown, found: Found): unknown => {
  if (found === undefined) return value
  if ("start" in found) return new JsonText(text.slice(found.start, found.end))
  const target = value as Record<string | number, unknown>
  // These are all own properties, even `__proto__`: JSON.parse makes them so.
  for (const [key, part] of found) target[key] = graft(text, target[key], part)
  return target
}

/** Valid JSON without insignificant white space; strings, numbers and order untouched. */
export const compact = (text: string): string => {
  if (!/[ \t\n\r]/.test(text)) return text
  let out = ""
  let from = 0
  for (let at = 0; at < text.length; ) {
    const code = text.charCodeAt(at)
    if (isSpace(code)) {
      out += text.slice(from, at)
      while (isSpace(text.charCodeAt(at))) at++
      from = at
    } else at = code === QUOTE ? endOfString(text, at) : at + 1
  }
  return out + text.slice(from)
}

const QUOTE = 0x22
