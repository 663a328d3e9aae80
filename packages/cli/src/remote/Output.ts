/**
 * Output of commands: data on standard output, messages on standard error; tables for people, the REST answer for programs.
 * Colour only on a terminal.
 */
import { createInterface } from "node:readline/promises"
import { Effect } from "effect"
import { bold, complain, dim, green, red, say, sayToTheLetter } from "../command/Terminal.ts"

export type Cell = string | number | null

/** Columns by their widest cell; null is shown as a dash. */
export const table = (heads: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<Cell>>): string => {
  const cells = rows.map((row) => row.map((cell) => (cell === null || cell === "" ? "-" : String(cell))))
  const widths = heads.map((head, at) => Math.max(head.length, ...cells.map((row) => row[at]!.length)))
  const line = (row: ReadonlyArray<string>) =>
    row
      .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at]!)))
      .join("  ")
      .trimEnd()
  return [dim(line(heads)), ...cells.map((row) => painted(line(row)))].join("\n")
}

/** A line for each member, those of objects indented; what is no text is shown as JSON. */
export const members = (value: object, indent = ""): string => {
  const width = Math.max(...Object.keys(value).map((name) => name.length))
  return Object.entries(value)
    .map(([name, one]) =>
      one !== null && typeof one === "object" && !Array.isArray(one) && Object.keys(one).length > 2
        ? `${indent}${name}\n${members(one, `${indent}  `)}`
        : `${indent}${name.padEnd(width)}  ${typeof one === "string" ? one : JSON.stringify(one)}`
    )
    .join("\n")
}

const painted = (line: string) =>
  line
    .replace(/\bdelivered\b/, green("delivered"))
    .replace(/\b(failed_permanent|dead_lettered)\b/, (status) => red(status))

/** With `--json` the exact answer, otherwise the result of `show`. */
export const print = (json: boolean, text: string, show: () => string) => {
  if (json) return text === "" ? Effect.void : sayToTheLetter(text)
  const shown = show()
  return shown === "" ? Effect.void : say(shown)
}

/** For the user, not for the next program. */
export const talk = (line: string) => complain(line)

export const heading = bold

/** Whether somebody is there to be asked. */
export const isTerminal = () => process.stdin.isTTY === true && process.stderr.isTTY === true

/** Asks; only a yes is one. */
export const agreed = (question: string) =>
  Effect.promise(async () => {
    const reader = createInterface({ input: process.stdin, output: process.stderr })
    const answer = await reader.question(`${question} [y/N] `)
    reader.close()
    return /^y(es)?$/i.test(answer.trim())
  })
