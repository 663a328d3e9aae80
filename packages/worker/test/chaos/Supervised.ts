/**
 * A process of the installation that is restarted whenever it ends, as by an init system.
 *
 * Each start has a name of its own, which it puts into its user agent, so that receivers know the sender. For that it runs a
 * copy of the bundle that differs only in its version.
 */
import type { ChildProcess } from "node:child_process"
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { bundleFile, DEFAULTS, type Environment, startCommand } from "@posthorn/testkit/Command"
import { preloadIn } from "./Clocks.ts"

const RESTART_MS = 300
const LOG_LINES = 8
const NAME_VARIABLE = "CHAOS_NAME"
const VERSION = /^var VERSION\s*=\s*("[^"]*");/m

/** A log line without its frame. */
const messageOf = (line: string): string => {
  try {
    const { message } = JSON.parse(line) as { readonly message: unknown }
    const [text, error] = Array.isArray(message) ? message : [message]
    return `${text} ${(error as { readonly message?: string } | undefined)?.message ?? ""}`
  } catch {
    return line
  }
}

/** The copy of the bundle, what is loaded before it, and the way to remove both. */
export const namedCommand = () => {
  const folder = mkdtempSync(join(tmpdir(), "posthorn-chaos-"))
  cpSync(dirname(bundleFile), folder, { recursive: true, filter: (path) => !path.endsWith(".map") })
  let found = 0
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".mjs"))) {
    const text = readFileSync(join(folder, file), "utf8")
    if (!VERSION.test(text)) continue
    found += 1
    const named = `var VERSION = $1 + "-" + process.env.${NAME_VARIABLE};`
    writeFileSync(join(folder, file), text.replace(VERSION, named))
  }
  if (found !== 1) throw new Error(`The bundle holds its version ${found} times, not once`)
  return {
    file: join(folder, "posthorn.mjs"),
    preload: preloadIn(folder),
    remove: () => rmSync(folder, { recursive: true, force: true })
  }
}

/** The program, and what is loaded before it, if anything. */
interface Program {
  readonly file: string
  readonly preload?: string
}

export class Supervised {
  /** The number of starts; the latest start is `<name>.<starts>`. */
  starts = 0
  /** Beginnings and ends of the times in which it was frozen. */
  readonly frozen: Array<{ readonly from: number; readonly to: number }> = []
  readonly log: Array<string> = []
  private child: ChildProcess | null = null
  private timer: NodeJS.Timeout | null = null
  private over = false
  private pause = RESTART_MS
  private readonly role: string
  private readonly program: ReadonlyArray<string>
  private readonly command: "work" | "serve"
  private readonly environment: Environment

  constructor(role: string, { file, preload }: Program, command: "work" | "serve", environment: Environment) {
    this.role = role
    this.program = preload === undefined ? [file] : ["--require", preload, file]
    this.command = command
    this.environment = environment
  }

  /** Of the latest start. */
  get name(): string {
    return `${this.role}.${this.starts}`
  }

  start(): void {
    this.starts += 1
    const { name } = this
    const child = startCommand(
      [this.command],
      { ...DEFAULTS, ...this.environment, [NAME_VARIABLE]: name },
      this.program,
      { stdio: ["ignore", "ignore", "pipe", "ipc"] }
    )
    this.child = child
    const end = () => child.kill("SIGKILL")
    process.once("exit", end)
    child.stderr.on("data", (chunk) => this.hear(name, String(chunk)))
    child.once("close", () => {
      this.child = null
      process.off("exit", end)
      if (this.over) return
      this.timer = setTimeout(() => this.start(), this.pause)
      this.pause = RESTART_MS
    })
  }

  /** Ignores that the database is unreachable. */
  private hear(name: string, text: string): void {
    const lines = text.split("\n").filter((line) => line !== "" && !line.includes("database is away"))
    this.log.push(...lines.map((line) => `${name}: ${messageOf(line)}`))
    this.log.splice(0, this.log.length - LOG_LINES)
  }

  /** It is restarted `down` ms later. */
  end(signal: "SIGKILL" | "SIGTERM", down: number): void {
    this.pause = down
    this.child?.kill(signal)
  }

  /** For the start of this name; false when that has ended. */
  setClock(name: string, offMs: number): boolean {
    if (name !== this.name || this.child?.connected !== true) return false
    // The process may be dying just now: without this, that would end the run.
    this.child.send({ offMs }, () => undefined)
    return true
  }

  freeze(ms: number): void {
    const { child } = this
    if (child === null) return
    const from = Date.now()
    child.kill("SIGSTOP")
    setTimeout(() => {
      child.kill("SIGCONT")
      this.frozen.push({ from, to: Date.now() })
    }, ms)
  }

  stop(): Promise<void> {
    this.over = true
    if (this.timer !== null) clearTimeout(this.timer)
    const { child } = this
    if (child === null) return Promise.resolve()
    return new Promise((resolve) => {
      child.once("close", () => resolve())
      child.kill("SIGKILL")
    })
  }
}
