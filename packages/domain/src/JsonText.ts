/**
 * JSON carried as text, losslessly: a payload reaches the receiver as it was published.
 *
 * `JSON.parse` and `JSON.stringify` lose the spelling of numbers (1.0, 1e3, 2^53 + 1) and move integer-like names to
 * the front; a slice of the text keeps everything, escapes and lone surrogates included. `parseJson` cuts the slices
 * out, `stringify` writes them back verbatim. `JSON.parse` stays the judge of the syntax. Pure. Source: spec §2.7.
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

/** Levels of arrays and objects inside a raw value; a scalar has none. */
export const MAX_RAW_DEPTH = 100

/** Levels around and beside the raw values. */
export const MAX_DEPTH = 128

/**
 * Values around and beside the raw ones: several times what the longest batch has. 500,000 of them in 1 MiB cost 300 ms
 * and more before anybody could say that they are too many.
 */
export const MAX_VALUES = 10_000

/** JSON that is written exactly as it stands. The text must be valid JSON: nobody looks at it again. */
export class JsonText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Within `stringify` a marker; anywhere else the value, as well as JavaScript can hold it. */
  toJSON(): unknown {
    if (collected === undefined) return JSON.parse(this.text)
    collected.push(this.text)
    return MARKER
  }
}

/** Random and never given away, so that no caller's string can be taken for it. */
const MARKER = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(15))))
const WRITTEN_MARKER = `"${MARKER}"`

/** The texts met by the `stringify` that is running. */
let collected: Array<string> | undefined

/** As `JSON.stringify`, with each `JsonText` verbatim. What has no JSON (undefined, a function) is `null`. */
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
  /** For a person; repeats nothing of the text. */
  readonly message: string
  /** JSON pointer to the raw value that is too deep; "" for the whole. */
  readonly path: string
}

export interface ParseOptions {
  /** How deep a raw value may be. Default `MAX_RAW_DEPTH`. */
  readonly rawDepth?: number
  /** How many values there may be around and beside the raw ones. Default `MAX_VALUES`. */
  readonly values?: number
  /** The syntax of the raw values is not judged here: that is left to `rawProblem`, or to whoever parses them. */
  readonly rawUnparsed?: boolean
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
 * The text with `""` in the place of each slice. It is valid JSON, and so is each slice, exactly when the text is: a
 * string, unlike a number, takes nothing that follows for a part of itself.
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

/** What is wrong with the syntax of the first raw value that is not valid. Costs as much as parsing them. */
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

/** The engine's message may quote the text; only the position that ends some of them is passed on. */
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

/** Puts the slices in the place of the parsed values. */
const graft = (text: string, value: unknown, found: Found): unknown => {
  if (found === undefined) return value
  if ("start" in found) return new JsonText(text.slice(found.start, found.end))
  const target = value as Record<string | number, unknown>
  // Own properties, all of them, `__proto__` included: JSON.parse made them so.
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
