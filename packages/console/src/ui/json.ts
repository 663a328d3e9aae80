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

/** The text of a member of the object that `text` is; undefined when it has none of that name. */
export const rawMember = (text: string, name: string): string | undefined => {
  let at = skipSpace(text, 0)
  if (text[at] !== "{") return undefined
  at = skipSpace(text, at + 1)
  while (at < text.length && text[at] === '"') {
    const keyEnd = endOfString(text, at)
    const key = text.slice(at, keyEnd)
    const from = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = endOfValue(text, from)
    if (key === JSON.stringify(name)) return text.slice(from, end)
    at = skipSpace(text, skipSpace(text, end) + 1)
  }
  return undefined
}

/** The texts of an array's elements. */
export const rawElements = (text: string): ReadonlyArray<string> => {
  const elements: Array<string> = []
  let at = skipSpace(text, skipSpace(text, 0) + 1)
  while (at < text.length && text[at] !== "]") {
    const end = endOfValue(text, at)
    elements.push(text.slice(at, end))
    at = skipSpace(text, end)
    if (text[at] === ",") at = skipSpace(text, at + 1)
  }
  return elements
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
