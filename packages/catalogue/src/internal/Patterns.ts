/**
 * Patterns of JSON Schema, which are ECMA-262's with the flag `u`, on an engine without backtracking: a match takes time linear in
 * the text. What the engine lacks (look-around, back-references) is refused, and so is what it would read in another way.
 */
import { RE2Set } from "re2js"

export class PatternRefused extends Error {}

/** Most instructions of a pattern, estimated before it is compiled: 10 ms. */
const MOST_SIZE = 1_000

/** What the engine may remember of a pattern; beyond it, it goes on more slowly. */
const MEMORY_BYTES = 262_144

/** ECMA-262's white space, more than the engine's. */
const SPACE =
  "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}"

const ESCAPE =
  /^\\(?:u\{([0-9a-fA-F]+)\}|u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|c([A-Za-z])|([pP])\{(?:(?:General_Category|gc|Script|sc)=)?(\w+)\}|([\s\S]))/

const hex = (code: number) => `\\x{${code.toString(16)}}`

const surrogates = (high: string, low: string) =>
  0x10000 + (Number.parseInt(high, 16) - 0xd800) * 0x400 + Number.parseInt(low, 16) - 0xdc00

/** An escape in the engine's spelling, and the length of the original. */
const escaped = (text: string, inClass: boolean): readonly [string, number] => {
  const found = ESCAPE.exec(text)
  if (found === null) throw new PatternRefused("ends in the middle of an escape")
  const [whole, point, high, low, unit, byte, control, property, name, other] = found
  const length = whole.length
  if (high !== undefined && low !== undefined) return [hex(surrogates(high, low)), length]
  const code = point ?? unit ?? byte
  if (code !== undefined) return [hex(Number.parseInt(code, 16)), length]
  if (control !== undefined) return [hex(control.charCodeAt(0) % 32), length]
  if (name !== undefined) return [`\\${property}{${name}}`, length]
  if (other === "s") return [inClass ? SPACE : `[${SPACE}]`, length]
  if (other === "S") {
    if (inClass) throw new PatternRefused("has \\S within brackets: write the class out")
    return [`[^${SPACE}]`, length]
  }
  if (other === "0") return [hex(0), length]
  if (inClass && other === "b") return [hex(8), length]
  if (/[1-9k]/.test(other!)) throw new PatternRefused("refers back to a group")
  return [`\\${other}`, length]
}

/** How many instructions a pattern becomes: what is repeated counts as often as it may be. */
class Size {
  private readonly groups: Array<number> = [0]
  private last = 0

  add(size: number) {
    this.groups[this.groups.length - 1]! += size
    this.last = size
  }
  open() {
    this.groups.push(1)
  }
  close() {
    this.add(this.groups.pop()!)
  }
  repeat(times: number) {
    const more = this.last * (times - 1)
    this.groups[this.groups.length - 1]! += more
    this.last += more
    if (this.total > MOST_SIZE) throw new PatternRefused("is too large once its repetitions are written out")
  }
  get total() {
    return this.groups.reduce((sum, size) => sum + size, 0)
  }
}

const translated = (pattern: string): { readonly text: string; readonly size: number } => {
  const size = new Size()
  let out = ""
  let inClass = false
  for (let at = 0; at < pattern.length; ) {
    const rest = pattern.slice(at, at + 24)
    const one = String.fromCodePoint(pattern.codePointAt(at)!)
    if (one === "\\") {
      const [text, length] = escaped(rest, inClass)
      out += text
      at += length
      if (!inClass) size.add(1)
      continue
    }
    at += one.length
    if (inClass) {
      out += one === "[" ? "\\[" : one
      if (one === "]") inClass = false
      continue
    }
    const counted = one === "{" ? /^\{(\d+)(,?)(\d*)\}/.exec(rest) : null
    if (counted !== null) {
      size.repeat(
        Math.max(1, Number(counted[3] || counted[1]) + (counted[2] === "," && counted[3] === "" ? 1 : 0))
      )
      out += counted[0]
      at += counted[0].length - 1
    } else if (one === "(") {
      size.open()
      const named = /^\(\?<(\w+)>/.exec(rest)
      if (named === null && /^\(\?(?!:)/.test(rest)) throw new PatternRefused("looks around")
      out += named === null ? "(" : "(?:"
      at += named === null ? 0 : named[0].length - 1
    } else if (one === "[") {
      if (/^\[\^?\]/.test(rest)) throw new PatternRefused("has an empty class")
      inClass = true
      size.add(1)
      out += one
    } else {
      if (one === ")") size.close()
      else if (!"*+?".includes(one)) size.add(1)
      out += one === "." ? "[^\\n\\r\\x{2028}\\x{2029}]" : one
    }
  }
  if (size.total > MOST_SIZE) throw new PatternRefused("is too long")
  return { text: out, size: size.total }
}

/** A compiled pattern. Its text tells it from others within a schema. */
export class Pattern {
  readonly size: number
  private readonly source: string
  private readonly compiled = new RE2Set(RE2Set.UNANCHORED, 0, MEMORY_BYTES)

  /** Throws `PatternRefused`. */
  constructor(source: string) {
    this.source = source
    try {
      new RegExp(source, "u")
    } catch {
      throw new PatternRefused("is no regular expression of ECMA-262")
    }
    const { size, text } = translated(source)
    this.size = size
    try {
      this.compiled.add(text)
      this.compiled.compile()
    } catch {
      throw new PatternRefused("is not taken by an engine that matches in linear time")
    }
  }

  test(text: string): boolean {
    return this.compiled.match(text).length > 0
  }

  toString(): string {
    return this.source
  }
}
