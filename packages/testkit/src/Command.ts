/**
 * Runs the bundled command `posthorn` in tests, as separate processes with only a fresh shell's environment. `makeBundle` does
 * nothing if the bundle is current.
 */
import { type ChildProcessWithoutNullStreams, type SpawnOptions, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Effect, Redacted } from "effect"
import { TestDatabaseUrl } from "./TestDatabaseUrl.ts"

const inProject = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))

export const bundleFile = inProject("build/posthorn.mjs")

export const makeBundle = async () => {
  const { bundle } = (await import(inProject("scripts/bundle.mjs"))) as { bundle: () => Promise<void> }
  await bundle()
}

export type Environment = Readonly<Record<string, string>>

export const freshShell = { PATH: process.env.PATH!, HOME: process.env.HOME!, NO_COLOR: "1" }

/** The key of the tests' SecretBox: 32 bytes of 7. */
export const ENCRYPTION_KEY = Buffer.alloc(32, 7).toString("base64")

/** Retries so late that during a test only a takeover can send a delivery again. */
export const DEFAULTS = {
  ENCRYPTION_KEY,
  DELIVERY_ALLOWED_TARGETS: "127.0.0.0/8",
  DELIVERY_ALLOW_HTTP: "true",
  DELIVERY_RETRY_DELAY: "1 hour",
  DELIVERY_REQUEST_TIMEOUT: "10 seconds",
  DELIVERY_BODY_TIMEOUT: "1 second",
  DRAIN_SECONDS: "0",
  LOG_FORMAT: "json",
  LOG_LEVEL: "warning"
} as const

/** `program` is the path of a program, after options for Node if there are any. */
export const startCommand = (
  words: ReadonlyArray<string>,
  environment: Environment = {},
  program: ReadonlyArray<string> = [bundleFile],
  options: SpawnOptions = {}
) =>
  spawn(process.execPath, [...program, ...words], {
    env: { ...freshShell, ...environment },
    ...options
  }) as ChildProcessWithoutNullStreams

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Its output, growing, and how it ends. */
const heard = (child: ChildProcessWithoutNullStreams) => {
  const output = { out: "", err: "" }
  child.stdout.on("data", (chunk) => (output.out += chunk))
  child.stderr.on("data", (chunk) => (output.err += chunk))
  const ended = new Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>(
    (resolve) => child.once("close", (code, signal) => resolve({ code, signal }))
  )
  return { output, ended }
}

/** The output and the exit code of a process after this input. */
export const ended = async (child: ChildProcessWithoutNullStreams, input = ""): Promise<Ended> => {
  child.stdin.on("error", () => {})
  child.stdin.end(input)
  const { ended, output } = heard(child)
  return { code: (await ended).code, ...output }
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

const READY = { work: /work: delivering/, serve: /serve: listening on/, run: /run: delivering/ }

/** Starts one of its processes; `ready` fails if it ends before it reports that it is ready. */
const begin = (command: keyof typeof READY, environment: Environment) => {
  const child = startCommand([command], environment)
  const { ended, output } = heard(child)
  const process = {
    pid: child.pid!,
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    ended: Effect.promise(() => ended),
    running: () => child.exitCode === null && child.signalCode === null,
    /** What it wrote to standard error. */
    log: () => output.err,
    said: () => output.out
  }
  return { process, ready: saying(child)(READY[command]) }
}

export type Process = ReturnType<typeof begin>["process"]

export const startReady = async (command: keyof typeof READY, environment: Environment): Promise<Process> => {
  const { process, ready } = begin(command, environment)
  await ready
  return process
}

/** The same on the test's database. It is killed with the scope, even when frozen. */
export const startProcess = (command: keyof typeof READY, environment: Environment = {}) =>
  Effect.gen(function* () {
    const url = Redacted.value(yield* TestDatabaseUrl)
    yield* Effect.promise(makeBundle)
    const { process, ready } = yield* Effect.acquireRelease(
      Effect.sync(() => begin(command, { ...DEFAULTS, DATABASE_URL: url, ...environment })),
      ({ process: { ended, signal } }) =>
        Effect.zipRight(
          Effect.sync(() => signal("SIGKILL")),
          ended
        )
    )
    yield* Effect.promise(() => ready)
    return process
  })

export const startWorker = (environment: Environment = {}) => startProcess("work", environment)
