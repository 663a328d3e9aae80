/**
 * Reformats the library's `--help` pages: the command line with its full name, each option on one line, the options of every
 * command at the end. Other texts are not changed.
 */

/** A sentence that the library adds to everything; removed. */
const NOISE =
  /^(An? (user-defined piece of text|true or false value|integer|integer number)( that is confidential)?\.|This setting is optional\.|This option may be repeated zero or more times\.|One of the following: .*)$/
const COMMON = /^--(json|url|token|workspace)\b/
const WIDTH = 28

interface Entry {
  readonly name: string
  readonly about: string
}

/** `--file text`, then indented paragraphs about it. */
const entriesOf = (body: string): ReadonlyArray<Entry> => {
  const entries: Array<{ name: string; about: Array<string> }> = []
  for (const line of body.split("\n")) {
    const text = line.trim()
    if (text === "" || NOISE.test(text)) continue
    if (!line.startsWith(" ")) entries.push({ name: text, about: [] })
    else entries.at(-1)?.about.push(text)
  }
  return entries.map(({ about, name }) => ({ name, about: about.join(" ") }))
}

/** `  - create --event-types text … <url>    Registers an endpoint.` */
const commandsOf = (body: string): ReadonlyArray<Entry> =>
  body.split("\n").flatMap((line) => {
    const [, name = "", about = ""] = /^\s*- (.+?)\s{2,}(\S.*)$/.exec(line) ?? []
    return name === "" ? [] : [{ name, about }]
  })

const lineOf = ({ about, name }: Entry) =>
  name.length < WIDTH ? `  ${name.padEnd(WIDTH)}${about}` : `  ${name}\n  ${" ".repeat(WIDTH)}${about}`

const shortened = (text: string) =>
  text
    .replace(/ \[--(json|url text|token text|workspace text)\]/g, "")
    // May be repeated, and left out.
    .replace(/ (--[\w-]+ \w+)\.\.\./g, " [$1]...")
    .replace(/^\$ /, "")

const SECTION = /^(USAGE|DESCRIPTION|ARGUMENTS|OPTIONS|COMMANDS)$/m

export const tidy = (page: string, name = ""): string => {
  if (!/^USAGE$/m.test(page)) return page
  const parts = page.replaceAll("--token redacted", "--token text").split(SECTION)
  const sections = new Map<string, string>()
  for (let at = 1; at < parts.length; at += 2) sections.set(parts[at]!, parts[at + 1]!.trim())
  const usage = shortened(sections.get("USAGE") ?? "")
  const options = entriesOf(sections.get("OPTIONS") ?? "")
  const own = [
    ...entriesOf(sections.get("ARGUMENTS") ?? ""),
    ...options.filter(({ name }) => !COMMON.test(name))
  ]
  const commands = commandsOf(sections.get("COMMANDS") ?? "").map((one) => ({
    ...one,
    name: shortened(one.name)
  }))
  const common = options.filter(({ name }) => COMMON.test(name))
  return [
    `posthorn ${name === "" || usage.startsWith(name) ? "" : `${name} `}${usage}`,
    sections.get("DESCRIPTION") ?? "",
    ...[own, commands, common].filter((list) => list.length > 0).map((list) => list.map(lineOf).join("\n"))
  ].join("\n\n")
}

/** The library's error messages, in our words. */
export const plainly = (complaint: string): string =>
  complaint
    .replace(/^Expected to find option: '(--[\w-]+)'$/, "$1 is missing")
    .replace(/^'(.*)' is not a integer$/, '"$1" is no whole number')
    .replace(/^Expected one of the following cases: /, "expected one of ")
