/** The command's output: plain lines, with a little colour on a terminal and none elsewhere. */
import { DateTime, Effect } from "effect"

const colours = process.stdout.isTTY === true && !("NO_COLOR" in process.env)

const paint = (code: number) => (text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text)

export const bold = paint(1)
export const dim = paint(2)
export const yellow = paint(33)
export const green = paint(32)
export const red = paint(31)

/**
 * Removes control and bidirectional characters, by which text from others could rewrite the screen or disguise itself. Line
 * ends, tabs and our own colours stay.
 */
export const harmless = (text: string): string =>
  text.replace(OWN_OR_HARMFUL, (found) =>
    found.length > 1 && colours ? found : KEPT.has(found) ? found : ""
  )

const OWN_OR_HARMFUL = /\u001b\[(?:0|1|2|31|32|33)m|[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu
const KEPT = new Set(["\n", "\t"])

let asLog = false

/** From now on every line is written as the log's lines are: for services whose log is JSON, so that nothing plain is among it. */
export const writeAsLog = (): void => {
  asLog = true
}

type Level = "info" | "warning" | "error"

const write = (stream: NodeJS.WriteStream, level: Level, line: string) =>
  Effect.map(DateTime.now, (now) => {
    const message = harmless(line)
    const text = asLog ? JSON.stringify({ timestamp: DateTime.formatIso(now), level, message }) : message
    stream.write(`${text}\n`)
  })

/** A line for the reader, on standard output. */
export const say = (line: string) => write(process.stdout, "info", line)

/** Output for the next program. */
export const sayToTheLetter = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))

/** A line about what is wrong, on standard error. */
export const complain = (line: string, level: Level = "warning") => write(process.stderr, level, line)

/** Such as 13:59:59, in UTC. */
export const timeOfDay = Effect.map(DateTime.now, (now) => DateTime.formatIso(now).slice(11, 19))

/** One row of the start-up list: what is running, and where. */
export const row = (label: string, text: string) => say(`  ${green("✓")} ${label.padEnd(22)} ${text}`)
