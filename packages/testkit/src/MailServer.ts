/**
 * A real SMTP server on 127.0.0.1, aiosmtpd of Debian (python3-aiosmtpd), which `.ci/run` installs. It speaks STARTTLS, can ask for a
 * login, and refuses some recipients by their names (smtp/server.py).
 */
import { execFileSync, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { until } from "./Until.ts"

const path = (file: string) => fileURLToPath(new URL(`../${file}`, import.meta.url))

const PYTHON = "/usr/bin/python3"

export const isThere = (() => {
  try {
    execFileSync(PYTHON, ["-c", "import aiosmtpd"], { stdio: "ignore" })
    return true
  } catch {
    process.stderr.write(
      "No aiosmtpd here, so tests of e-mail are skipped: install it to run them (apt-get install python3-aiosmtpd).\n"
    )
    return false
  }
})()

export interface Mail {
  readonly from: string
  readonly to: ReadonlyArray<string>
  readonly secure: boolean
  readonly login: string | null
  /** As it was sent, each byte a character. */
  readonly message: string
}

/** Listens until the scope ends; with a password, nobody sends without a login. */
export const make = (port: number, password = "") =>
  Effect.gen(function* () {
    const mails: Array<Mail> = []
    const state = { listens: false }
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        const child = spawn(
          PYTHON,
          [
            "-W",
            "ignore",
            path("smtp/server.py"),
            String(port),
            path("certs/valid.pem"),
            path("certs/valid.key"),
            password
          ],
          { stdio: ["pipe", "pipe", "ignore"] }
        )
        createInterface(child.stdout).on("line", (line) => {
          if (line === "listening") state.listens = true
          else mails.push(JSON.parse(line) as Mail)
        })
        return child
      }),
      (child) =>
        Effect.async<void>((resume) => {
          child.once("exit", () => resume(Effect.void))
          child.kill("SIGKILL")
        })
    )
    yield* until(
      Effect.sync(() => state.listens),
      (listens) => listens
    )
    return {
      mails,
      waitFor: (count: number) =>
        until(
          Effect.sync(() => mails.length),
          (n) => n >= count
        )
    }
  })
