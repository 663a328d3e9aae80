/**
 * Runs the bundled command `posthorn` in tests, as separate processes with only a fresh shell's environment. `makeBundle` does
 * nothing if the bundle is current.
 */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const inProject = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))

export const bundleFile = inProject("build/posthorn.mjs")

export const makeBundle = async () => {
  const { bundle } = (await import(inProject("scripts/bundle.mjs"))) as { bundle: () => Promise<void> }
  await bundle()
}

export type Environment = Readonly<Record<string, string>>

export const freshShell = { PATH: process.env.PATH!, HOME: process.env.HOME!, NO_COLOR: "1" }

export const startCommand = (
  words: ReadonlyArray<string>,
  environment: Environment = {},
  program: string = bundleFile
) => spawn(process.execPath, [program, ...words], { env: { ...freshShell, ...environment } })

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** The output and the exit code of a process after this input. */
export const ended = (child: ChildProcessWithoutNullStreams, input = ""): Promise<Ended> => {
  child.stdin.on("error", () => {})
  child.stdin.end(input)
  return new Promise((resolve) => {
    let [out, err] = ["", ""]
    child.stdout.on("data", (chunk) => (out += chunk))
    child.stderr.on("data", (chunk) => (err += chunk))
    child.once("close", (code) => resolve({ code, out, err }))
  })
}

export const runCommand = (words: ReadonlyArray<string>, environment?: Environment, input?: string) =>
  ended(startCommand(words, environment), input)

/** Its whole output, on both streams, by the time it prints this; fails if it ends before. */
export const saying = (child: ChildProcessWithoutNullStreams) => {
  let said = ""
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk))
  return (what: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = () => {
        const found = what.exec(said)
        if (found !== null) resolve(found)
      }
      for (const stream of [child.stdout, child.stderr]) stream.on("data", look)
      child.once("close", () => reject(new Error(`It ended without saying ${what}: ${said}`)))
      look()
    })
}
