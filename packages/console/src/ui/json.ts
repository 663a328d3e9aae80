/**
 * JSON as it was written: extracted from an answer and indented without parsing, so that the order of members and the spelling
 * of numbers stay as published.
 */
const STRING = /"(?:[^"\\]|\\.)*"/y
const SPACE = /[\s]*/y
const PLAIN = /[^\s,\]}]+/y

const endOfString = (text: string, from: number) => {
  STRING.lastIndex = from
  return STRING.test(text) ? STRING.lastIndex : text.length
}

const skipSpace = (text: string, from: number) => {
  SPACE.lastIndex = from
  SPACE.test(text)
  return SPACE.lastIndex
}

/** Where the value that begins at `from` ends. */
const endOfValue = (text: string, from: number): number => {
  const first = text[from]
  if (first === '"') return endOfString(text, from)
  if (first !== "{" && first !== "[") {
    PLAIN.lastIndex = from
    return PLAIN.test(text) ? PLAIN.lastIndex : text.length
  }
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const sign = text[at]
    if (sign === '"') at = endOfString(text, at) - 1
    else if (sign === "{" || sign === "[") depth++
    else if ((sign === "}" || sign === "]") && --depth === 0) return at + 1
  }
  return text.length
}

interface Part {
  /** A member's name, or an element's index. */
  readonly name: string
  readonly from: number
  readonly text: string
}

/** The members of the object, or the elements of the array, that `text` is; the first ones, if there are too many. */
export const partsOf = (text: string, most = Number.POSITIVE_INFINITY): ReadonlyArray<Part> => {
  const parts: Array<Part> = []
  let at = skipSpace(text, 0)
  const isObject = text[at] === "{"
  if (!isObject && text[at] !== "[") return parts
  at = skipSpace(text, at + 1)
  while (at < text.length && text[at] !== "}" && text[at] !== "]" && parts.length < most) {
    const keyEnd = isObject ? endOfString(text, at) : at
    const name = isObject ? String(JSON.parse(text.slice(at, keyEnd))) : String(parts.length)
    const from = isObject ? skipSpace(text, skipSpace(text, keyEnd) + 1) : at
    const end = endOfValue(text, from)
    parts.push({ name, from, text: text.slice(from, end) })
    at = skipSpace(text, end)
    if (text[at] === ",") at = skipSpace(text, at + 1)
  }
  return parts
}

export const isObject = (text: string) => text[skipSpace(text, 0)] === "{"

/** The text of a member of the object that `text` is; undefined when it has none of that name. */
export const rawMember = (text: string, name: string): string | undefined =>
  isObject(text) ? partsOf(text).find((part) => part.name === name)?.text : undefined

/** The texts of an array's elements. */
export const rawElements = (text: string): ReadonlyArray<string> => partsOf(text).map((part) => part.text)

/** The line of the value that a JSON Pointer names, or of the last one on the way to it. */
export const lineOf = (text: string, pointer: string): number => {
  let from = 0
  let value = text
  for (const step of pointer.split("/").slice(1)) {
    const name = step.replace(/~1/g, "/").replace(/~0/g, "~")
    const part = partsOf(value).findLast((each) => each.name === name)
    if (part === undefined) break
    from += part.from
    value = part.text
  }
  return text.slice(0, from).split("\n").length
}

/** Indented by two spaces for each level. */
export const inLines = (text: string): string => {
  const parts: Array<string> = []
  let depth = 0
  const line = () => `\n${"  ".repeat(depth)}`
  for (let at = 0; at < text.length; ) {
    const sign = text[at]!
    if (sign === '"') {
      const end = endOfString(text, at)
      parts.push(text.slice(at, end))
      at = end
    } else if (sign === "{" || sign === "[") {
      const next = skipSpace(text, at + 1)
      if (text[next] === "}" || text[next] === "]") {
        parts.push(sign, text[next]!)
        at = next + 1
      } else {
        depth++
        parts.push(sign, line())
        at = next
      }
    } else if (sign === "}" || sign === "]") {
      depth--
      parts.push(line(), sign)
      at++
    } else if (sign === ",") {
      parts.push(sign, line())
      at = skipSpace(text, at + 1)
    } else if (sign === ":") {
      parts.push(": ")
      at = skipSpace(text, at + 1)
    } else if (/\s/.test(sign)) {
      at = skipSpace(text, at)
    } else {
      const end = Math.max(at + 1, endOfValue(text, at))
      parts.push(text.slice(at, end))
      at = end
    }
  }
  return parts.join("")
}
