/**
 * A delivery worker as in production: the bundled command as a process, on the test's database. It is killed with the scope,
 * even when frozen.
 */
import { type ChildProcessByStdio, spawn } from "node:child_process"
import type { Readable } from "node:stream"
import { TestDatabaseUrl } from "@posthorn/testkit/TestPg"
import { Deferred, Effect, Redacted, type Scope } from "effect"
import { bundleFile, DEFAULTS, type Environment, makeBundle } from "./CommandEnvironment.ts"

/** Once per test file. */
const bundled = makeBundle()

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface WorkerProcess {
  readonly pid: number
  readonly signal: (signal: NodeJS.Signals) => void
  readonly ended: Effect.Effect<Ended>
  readonly running: () => boolean
  /** What it wrote to standard error. */
  readonly log: () => string
}

const READY = {
  work: "posthorn work: delivering",
  serve: "posthorn serve: listening on",
  run: "posthorn run: delivering"
}

/** Starts `posthorn work`, `serve` or `run`, and waits until it reports that it is ready. */
export const startProcess = (
  command: keyof typeof READY,
  environment: Environment
): Effect.Effect<WorkerProcess & { readonly said: () => string }, never, TestDatabaseUrl | Scope.Scope> =>
  Effect.gen(function* () {
    yield* Effect.promise(() => bundled)
    const url = Redacted.value(yield* TestDatabaseUrl)
    const ready = yield* Deferred.make<void>()
    const over = yield* Deferred.make<Ended>()
    let out = ""
    let log = ""
    const child: ChildProcessByStdio<null, Readable, Readable> = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [bundleFile, command], {
          env: { ...DEFAULTS, DATABASE_URL: url, ...environment },
          stdio: ["ignore", "pipe", "pipe"]
        })
      ),
      () =>
        Effect.zipRight(
          Effect.sync(() => child.kill("SIGKILL")),
          Deferred.await(over)
        )
    )
    child.stdout.on("data", (chunk) => {
      out += chunk
      if (out.includes(READY[command])) Deferred.unsafeDone(ready, Effect.void)
    })
    child.stderr.on("data", (chunk) => {
      log += chunk
    })
    child.once("close", (code, signal) => Deferred.unsafeDone(over, Effect.succeed({ code, signal })))
    const died = Effect.flatMap(Deferred.await(over), (ended) =>
      Effect.dieMessage(
        `posthorn ${command} ended (${ended.code}, ${ended.signal}) before it was ready: ${log}`
      )
    )
    yield* Effect.raceFirst(Deferred.await(ready), died)
    return {
      pid: child.pid!,
      signal: (signal) => void child.kill(signal),
      ended: Deferred.await(over),
      running: () => child.exitCode === null && child.signalCode === null,
      log: () => log,
      said: () => out
    }
  })

export const startWorker = (environment: Environment = {}) => startProcess("work", environment)
