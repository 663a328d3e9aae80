/** `npm start` as a new user sees it: real processes, and a real database folder that is removed at the end. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Environment, ended, saying, startCommand } from "@posthorn/testkit/Command"
import { afterAll } from "vitest"

export const root = fileURLToPath(new URL("../../..", import.meta.url))
export const folder = mkdtempSync(join(tmpdir(), "posthorn-start-"))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

export const STOPPING = "Stopping: what is in flight is finished first; Ctrl-C again stops at once.\n"

/** Runs `npm start` until it says how to stop, then sends Ctrl-C. */
export const startAndStop = async (environment: Environment) => {
  const child = startCommand([], { PORT: "0", ...environment }, [join(root, "scripts", "start.mjs")])
  const end = ended(child)
  await saying(child)(/Ctrl-C stops/)
  child.kill("SIGINT")
  return end
}

export const lineOf = (out: string, label: string) =>
  out.split("\n").find((line) => line.includes(label)) ?? ""
