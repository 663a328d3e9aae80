/**
 * The guards in SQL text: conditions, locks, `on conflict`, and limits on waiting. Each comes with the text without it.
 *
 * A condition is the text after `where`, `and`, `on`, `when`, `if`, `elsif` or `or`, up to the next word that ends it at the
 * same depth of brackets. Removing it makes it always true; after `if`, `elsif` and `or`, always false.
 */

export interface Guard {
  /** The removed text, on one line. */
  readonly what: string
  /** Its position in the text, and its replacement. */
  readonly from: number
  readonly to: number
  readonly instead: string
}

interface Token {
  readonly text: string
  readonly from: number
  readonly to: number
  /** The number of brackets and `case … end` around it. */
  readonly depth: number
}

/** Comments and white space are not tokens; a placeholder of a template literal is one token, including its content. */
const TOKEN =
  /--[^\n]*|\s+|'(?:[^']|'')*'|\$\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}|\$\$|[A-Za-z_][\w$]*|\d+|::|<>|<=|>=|:=|\|\||[^\s]/g

/** Unlike the `end` of a block, this one ends no condition. */
const END_OF_CASE = "end case"

const tokensOf = (text: string): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  let depth = 0
  let cases = 0
  for (const match of text.matchAll(TOKEN)) {
    const [word] = match
    if (/^(--|\s)/.test(word)) continue
    const read = word.toLowerCase()
    const endsCase = read === "end" && cases > 0
    if (endsCase) cases -= 1
    if (endsCase || word === ")" || word === "]") depth -= 1
    const token = { from: match.index, to: match.index + word.length, depth }
    tokens.push({ text: endsCase ? END_OF_CASE : read, ...token })
    if (read === "case") cases += 1
    if (read === "case" || word === "(" || word === "[") depth += 1
  }
  return tokens
}

const ALWAYS = new Set(["where", "and", "on", "when"])
const NEVER = new Set(["if", "elsif", "or"])
const ENDS = new Set(
  "and or order group limit offset returning union then loop join left cross where set else end do using window from when execute as ; , $$ `".split(
    " "
  )
)

const startsLock = (tokens: ReadonlyArray<Token>, n: number) =>
  tokens[n]!.text === "for" && ["update", "no", "share", "key"].includes(tokens[n + 1]?.text ?? "")

const isConflict = (tokens: ReadonlyArray<Token>, n: number) =>
  tokens[n]!.text === "on" && tokens[n + 1]?.text === "conflict"

/** `between … and`, `on conflict`, `distinct on`, a trigger's `on`, `on true`: these are not conditions. */
const isCondition = (tokens: ReadonlyArray<Token>, n: number): boolean => {
  const { depth, text } = tokens[n]!
  if (!ALWAYS.has(text) && !NEVER.has(text)) return false
  // `create trigger … on table … for each row when (…)`.
  if (tokens[1]!.text === "trigger" && text !== "when") return depth > 0
  if (text === "on")
    return (
      !isConflict(tokens, n) &&
      tokens[n - 1]?.text !== "distinct" &&
      tokens[n + 1]?.text !== "true" &&
      tokens[n + 2]?.text !== "for"
    )
  if (text === "if") return tokens[n - 1]?.text !== "end"
  // `case x when 'y'` names a value.
  if (text === "when" && tokens[n + 1]?.text.startsWith("'")) return false
  if (text === "and") {
    for (let back = n - 1; back >= 0 && tokens[back]!.depth >= depth; back--) {
      if (tokens[back]!.depth > depth) continue
      if (tokens[back]!.text === "between") return false
      if (ENDS.has(tokens[back]!.text) || ALWAYS.has(tokens[back]!.text)) return true
    }
  }
  return true
}

const conditionAt = (text: string, tokens: ReadonlyArray<Token>, n: number): Guard | null => {
  const { depth, text: word } = tokens[n]!
  let end = n + 1
  let between = false
  for (; end < tokens.length; end++) {
    const token = tokens[end]!
    if (token.depth < depth) break
    if (token.depth > depth) continue
    if (token.text === "between") between = true
    else if (token.text === "and" && between) between = false
    else if (token.text === ")" && token.depth < depth) break
    else if (ENDS.has(token.text) || startsLock(tokens, end) || isConflict(tokens, end)) {
      // `is distinct from` continues the condition.
      if (token.text === "from" && tokens[end - 1]!.text === "distinct") continue
      break
    }
  }
  if (end === n + 1) return null
  const [from, to] = [tokens[n + 1]!.from, tokens[end - 1]!.to]
  const before = tokens[n - 1]?.text ?? ""
  // Without its condition, `continue when` or `exit when` becomes unconditional.
  const value = ALWAYS.has(word) && !["continue", "exit"].includes(before) ? "true" : "false"
  // `exception when` names what is caught; it is replaced by a code that nothing raises.
  if (before === "exception")
    return { what: oneLine(`exception when ${text.slice(from, to)}`), from, to, instead: "assert_failure" }
  // A trigger's `when` needs brackets.
  const instead = text[from] === "(" ? `(${value})` : value
  return { what: `${word} ${oneLine(text.slice(from, to))}`, from, to, instead }
}

const oneLine = (text: string) =>
  text
    .replace(/--[^\n]*/g, " ")
    .replace(/\s+/g, " ")
    .trim()

/** `on conflict … do update set …`, up to the end of its statement. */
const replacementAt = (text: string, tokens: ReadonlyArray<Token>, n: number): ReadonlyArray<Guard> => {
  if (!isConflict(tokens, n)) return []
  const { depth, from } = tokens[n]!
  const rest = tokens.slice(n)
  const action = rest.findIndex((token) => token.depth === depth && token.text === "do")
  if (rest[action + 1]?.text !== "update") return []
  const end = rest.findIndex(
    (token) => token.depth < depth || (token.depth === depth && ["returning", ";", "`"].includes(token.text))
  )
  const { to } = rest.at(end === -1 ? -1 : end - 1)!
  return [{ what: oneLine(text.slice(from, rest[action + 1]!.to)), from, to, instead: "" }]
}

const PHRASES = [
  /for (?:no key update|key share|update|share)(?: of \w+)?(?: skip locked)?/g,
  /skip locked/g,
  /on conflict(?: \([^)]*\))? do nothing/g,
  /set lock_timeout = '[^']*'/g
]

const inComment = (text: string, at: number) => /--[^\n]*$/.test(text.slice(0, at))

const phrasesIn = (text: string): ReadonlyArray<Guard> =>
  PHRASES.flatMap((phrase) =>
    [...text.matchAll(phrase)]
      .filter(({ index }) => !inComment(text, index))
      .map(({ 0: what, index }) => ({ what, from: index, to: index + what.length, instead: "" }))
  )

/** In the order of the text. */
export const guardsIn = (text: string): ReadonlyArray<Guard> => {
  const tokens = tokensOf(text)
  const conditions = tokens.flatMap((_, n) =>
    isCondition(tokens, n) ? (conditionAt(text, tokens, n) ?? []) : []
  )
  const replacements = tokens.flatMap((_, n) => replacementAt(text, tokens, n))
  return [...conditions, ...replacements, ...phrasesIn(text)].toSorted((a, b) => a.from - b.from)
}

export const without = (text: string, { from, instead, to }: Guard): string =>
  text.slice(0, from) + instead + text.slice(to)
