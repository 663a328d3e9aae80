/**
 * Runs a program to its end, optionally as another user, without our environment (a stray PGDATA or LC_ALL of the user's shell
 * must not reach PostgreSQL). It has its own process group: this process handles Ctrl-C, and interruption kills the program
 * with all its children.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { Effect } from "effect"

/** The user that a program runs as; `undefined` always means the current user. */
export interface Account {
  readonly uid: number
  readonly gid: number
}

/** English messages without a locale to look up, and no search for the system's time zone (50 ms of initdb). */
export const environment = { LC_ALL: "C", TZ: "UTC", PATH: "/usr/local/bin:/usr/bin:/bin" }

export interface Outcome {
  readonly ok: boolean
  readonly output: string
  /** Set when the program could not even be started. */
  readonly spawnError: string | undefined
}

interface RunOptions {
  readonly account: Account | undefined
  readonly cwd: string
  readonly input?: string
}

/** Signals a detached child and its descendants; it is no error if it has already ended. */
export const killGroup = (child: ChildProcess, signal: NodeJS.Signals) => {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch {}
}

export const run = (
  command: string,
  args: ReadonlyArray<string>,
  options: RunOptions
): Effect.Effect<Outcome> =>
  Effect.async<Outcome>((resume) => {
    const done = (ok: boolean, spawnError?: string) => resume(Effect.succeed({ ok, output, spawnError }))
    let output = ""
    const child = spawn(command, [...args], {
      ...options.account,
      cwd: options.cwd,
      env: environment,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"]
    })
    const collect = (chunk: Buffer) => {
      output += chunk.toString("utf8")
    }
    child.stdout.on("data", collect)
    child.stderr.on("data", collect)
    child.stdin.on("error", () => {})
    child.stdin.end(options.input ?? "")
    child.once("error", (error: NodeJS.ErrnoException) => done(false, error.code ?? error.message))
    child.once("close", (code) => done(code === 0))
    return Effect.sync(() => killGroup(child, "SIGKILL"))
  })
