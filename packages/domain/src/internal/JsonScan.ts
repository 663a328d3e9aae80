/**
 * Walks the text of JSON without parsing it: where the values at given paths begin and end, and whether it is nested
 * too deep. It runs before `JSON.parse`, which a million brackets keep busy for 0.1 s. So it accepts any text; its results mean
 * something only if `JSON.parse` then finds the text valid. It takes linear time, and its recursion depth is that of the paths,
 * never of the text.
 */
export interface Slice {
  readonly start: number
  readonly end: number
}

/** The slices found in a value: the whole value, or parts by member name or index; undefined for none. */
export type Found = Slice | ReadonlyMap<string | number, Found> | undefined

/** What to look for: the value itself, or something in its members (by name) or elements (`*`). */
export interface Plan {
  wanted: boolean
  readonly parts: Map<string, Plan>
}

const plans = new WeakMap<ReadonlyArray<ReadonlyArray<string>>, Plan>()

/** Cached by the list of paths. */
export const planOf = (paths: ReadonlyArray<ReadonlyArray<string>>): Plan => {
  const made = plans.get(paths)
  if (made !== undefined) return made
  const top: Plan = { wanted: false, parts: new Map() }
  for (const path of paths) {
    let plan = top
    for (const segment of path) {
      const next = plan.parts.get(segment) ?? { wanted: false, parts: new Map() }
      plan.parts.set(segment, next)
      plan = next
    }
    plan.wanted = true
  }
  plans.set(paths, top)
  return top
}

/** Most levels inside a wanted value; most levels, and most values, around and beside the wanted ones. */
export interface Limits {
  readonly inside: number
  readonly outside: number
  readonly values: number
}

/** Thrown when there are more values than `limits.values`; a wanted one counts as one. */
export class TooMany extends Error {
  readonly limit: number

  constructor(limit: number) {
    super(`Holds more than ${limit.toLocaleString("en")} values: send fewer at once.`)
    this.limit = limit
  }
}

/** Thrown, because it can occur in any step. `path` is the JSON pointer of the wanted value that is too deep, or "". */
export class TooDeep extends Error {
  readonly limit: number
  readonly path: string

  constructor(limit: number, path: string) {
    super(`Nested deeper than ${limit} levels.`)
    this.limit = limit
    this.path = path
  }
}

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

export const isSpace = (code: number): boolean =>
  code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

const opens = (code: number) => code === OPEN_ARRAY || code === OPEN_OBJECT
const closes = (code: number) => code === CLOSE_ARRAY || code === CLOSE_OBJECT
const endsScalar = (code: number) => code === COMMA || closes(code) || isSpace(code)

/** Skips from the opening quote at `start` past the closing one, or to the end of the text if there is none. */
export const endOfString = (text: string, start: number): number => {
  for (let from = start + 1; ; ) {
    const quote = text.indexOf('"', from)
    if (quote < 0) return text.length
    let before = quote - 1
    while (text.charCodeAt(before) === BACKSLASH) before--
    if ((quote - before) % 2 === 1) return quote + 1
    from = quote + 1
  }
}

/** The slices of the plan; throws `TooDeep` and `TooMany`. */
export const cut = (text: string, plan: Plan, limits: Limits): Found =>
  new Scan(text, limits).value(plan, 0, "")

const decoded = (name: string): string => {
  try {
    return JSON.parse(name)
  } catch {
    return name
  }
}

class Scan {
  private at = 0
  private values = 0
  private readonly text: string
  private readonly limits: Limits

  constructor(text: string, limits: Limits) {
    this.text = text
    this.limits = limits
  }

  /** One value, inside of `depth` arrays and objects. */
  value(plan: Plan | undefined, depth: number, path: string): Found {
    const code = this.next()
    const start = this.at
    const { inside, outside } = this.limits
    this.count()
    if (plan?.wanted === true) {
      if (!this.skip(inside)) throw new TooDeep(inside, path)
      return { start, end: this.at }
    }
    if (plan !== undefined && code === OPEN_OBJECT) return this.members(plan, depth + 1, path)
    const each = plan?.parts.get("*")
    if (each !== undefined && code === OPEN_ARRAY) return this.elements(each, depth + 1, path)
    if (!this.skip(outside - depth, true)) throw new TooDeep(outside, "")
    return undefined
  }

  private members(plan: Plan, depth: number, path: string): Found {
    const found = new Map<string, Found>()
    while (this.hasItem()) {
      const name = this.name()
      const next = name === "*" ? undefined : plan.parts.get(name)
      if (next === undefined) this.value(undefined, depth, "")
      // If a name is repeated, the last one counts, as for JSON.parse, even if nothing is found in it.
      else found.set(name, this.value(next, depth, `${path}/${name}`))
    }
    return found
  }

  private elements(each: Plan, depth: number, path: string): Found {
    const found = new Map<number, Found>()
    for (let index = 0; this.hasItem(); index++) found.set(index, this.value(each, depth, `${path}/${index}`))
    return found
  }

  /** Steps over an opening bracket or a comma to the next item, or over the closing bracket. */
  private hasItem(): boolean {
    const closed = closes(this.next())
    this.at++
    if (closed || this.at >= this.text.length) return false
    if (!closes(this.next())) return true
    this.at++
    return false
  }

  /** A member's name, decoded, and its colon. */
  private name(): string {
    const start = this.at
    this.at = endOfString(this.text, start)
    const written = this.text.slice(start, this.at)
    this.next()
    this.at++
    return written.includes("\\") ? decoded(written) : written.slice(1, -1)
  }

  /** The next character that is not white space. */
  private next(): number {
    while (isSpace(this.text.charCodeAt(this.at))) this.at++
    return this.text.charCodeAt(this.at)
  }

  private count() {
    if (++this.values > this.limits.values) throw new TooMany(this.limits.values)
  }

  /** Steps over one value; false when it has more than `limit` levels. */
  private skip(limit: number, counted = false): boolean {
    const { text } = this
    let depth = 0
    do {
      const code = text.charCodeAt(this.at)
      if (code === QUOTE) this.at = endOfString(text, this.at)
      else this.at++
      if (opens(code) && ++depth > limit) return false
      if (counted && (code === COMMA || (opens(code) && !closes(this.next())))) this.count()
      if (closes(code)) depth--
      else if (depth === 0 && code !== QUOTE) this.scalar()
    } while (depth > 0 && this.at < text.length)
    return true
  }

  private scalar(): void {
    while (this.at < this.text.length && !endsScalar(this.text.charCodeAt(this.at))) this.at++
  }
}
