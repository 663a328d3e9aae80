/** How the command speaks: plain lines, with a little colour on a terminal and none anywhere else. */
import { DateTime, Effect } from "effect"

const colours = process.stdout.isTTY === true && !("NO_COLOR" in process.env)

const paint = (code: number) => (text: string) => (colours ? `\u001b[${code}m${text}\u001b[0m` : text)

export const bold = paint(1)
export const dim = paint(2)
export const green = paint(32)
export const red = paint(31)

/** A line for the reader, on standard output. */
export const say = (line: string) => Effect.sync(() => void process.stdout.write(`${line}\n`))

/** A line about what went wrong, on standard error. */
export const complain = (line: string) => Effect.sync(() => void process.stderr.write(`${line}\n`))

/** Such as 13:59:59, in UTC. */
export const timeOfDay = Effect.map(DateTime.now, (now) => DateTime.formatIso(now).slice(11, 19))

/** One row of the start-up list: what is up, and where. */
export const row = (label: string, text: string) => say(`  ${green("✓")} ${label.padEnd(22)} ${text}`)
