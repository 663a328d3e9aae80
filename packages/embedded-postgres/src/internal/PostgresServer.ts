/**
 * The server process: started, awaited until it accepts connections, and stopped.
 *
 * Guarantees that no server outlives this process, however it ends. A small shell in between holds one end of a pipe, and only
 * this process holds the other end. When that closes (by this process, or by the system because it was killed), the shell stops
 * the server. Server and shell have their own process group, so Ctrl-C reaches only this process, and the server stops last.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import { Deferred, Effect, Runtime } from "effect"
import {
  type EmbeddedPostgresError,
  folderInUse,
  folderUnwritable,
  portTaken,
  startFailed,
  stopped
} from "../EmbeddedPostgresError.ts"
import { type Folder, nameForAccount } from "../PostgresFolder.ts"
import { OWNER } from "./PostgresLock.ts"
import { environment, killGroup } from "./Subprocess.ts"

/** Arguments: the signal that stops the server, "remove" to empty the cluster afterwards, the server's command line. */
const GUARD = `
stop=$1 after=$2; shift 2
"$@" 3<&- & server=$!
{ read -r line <&3; kill -s "$stop" "$server"; } 2>/dev/null & guard=$!
wait "$server"; code=$?
kill "$guard" 2>/dev/null
if [ "$after" = remove ]; then rm -rf ./*; fi
exit "$code"
`

/** The other states are a standby's. */
const READY = /ready to accept (read-only )?connections/

interface ServerOptions {
  readonly port: number
  readonly settings: Readonly<Record<string, string>>
  /** For tests: stop at once and remove the cluster. */
  readonly throwaway: boolean
  readonly log: (line: string) => Effect.Effect<void>
}

const settingsFor = (port: number, settings: Readonly<Record<string, string>>) => [
  ...["listen_addresses=127.0.0.1", "unix_socket_directories=", `port=${port}`],
  // Statement errors reach their sender; in this log they would repeat customers' data.
  ...["log_min_messages=log", "log_checkpoints=off", "log_line_prefix=", "timezone=UTC", "jit=off"],
  ...Object.entries(settings).map(([name, value]) => `${name}=${value}`),
  `${OWNER}${process.pid}`
]

const launch = (folder: Folder, name: string, options: ServerOptions) => {
  const { account, binaries, cluster } = folder
  const command = [
    binaries.postgres,
    "-D",
    name,
    ...settingsFor(options.port, options.settings).flatMap((s) => ["-c", s])
  ]
  const ending = options.throwaway ? ["QUIT", "remove"] : ["INT", "keep"]
  return spawn("/bin/sh", ["-c", GUARD, "posthorn-postgres", ...ending, ...command], {
    ...account,
    cwd: cluster,
    env: environment,
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "pipe"]
  })
}

const reason = (lines: ReadonlyArray<string>) => {
  const grave = lines.filter((line) => /^(FATAL|PANIC|DETAIL):/.test(line))
  const words = (grave.length > 0 ? grave : lines.slice(-1)).map((line) => line.replace(/^\w+:\s*/, ""))
  return words.join(" ") || "it gave no reason"
}

/** Explains the server's last output to the user. */
const explain = (lines: ReadonlyArray<string>, folder: Folder, port: number): EmbeddedPostgresError => {
  const text = lines.join("\n")
  if (text.includes("Address already in use")) return portTaken(port)
  if (/postmaster\.pid" already exists|pre-existing shared memory/.test(text)) return folderInUse(folder.root)
  if (text.includes("Permission denied")) return folderUnwritable(folder.root, "permission denied")
  if (text.includes("Read-only file system")) return folderUnwritable(folder.root, "read-only file system")
  return startFailed(reason(lines))
}

const exitOf = (child: ChildProcess) =>
  Effect.async<void>((resume) => {
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null)
      return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
  })

const stop = (child: ChildProcess) =>
  Effect.gen(function* () {
    const line = child.stdio[3] as Writable
    yield* Effect.sync(() => line.end())
    const ended = yield* exitOf(child).pipe(Effect.timeoutOption("20 seconds"))
    if (ended._tag === "None") {
      killGroup(child, "SIGKILL")
      yield* exitOf(child)
    }
  })

/**
 * Starts the server while the scope lives. Once it accepts connections, returns an effect that fails if the server ends before
 * its scope.
 */
export const startServer = (folder: Folder, options: ServerOptions) =>
  Effect.gen(function* () {
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const name = yield* nameForAccount(folder.cluster, folder.account)
    const ready = yield* Deferred.make<void, EmbeddedPostgresError>()
    const ended = yield* Deferred.make<never, EmbeddedPostgresError>()
    const said: Array<string> = []
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => launch(folder, name, options)),
      stop
    )
    ;(child.stdio[3] as Writable).on("error", () => {})
    createInterface({ input: child.stderr as Readable }).on("line", (line) => {
      said.push(line)
      if (said.length > 20) said.shift()
      runFork(options.log(line))
      if (READY.test(line)) runFork(Deferred.succeed(ready, undefined))
    })
    child.once("close", () => {
      runFork(Deferred.complete(ready, explain(said, folder, options.port)))
      runFork(Deferred.complete(ended, stopped(reason(said))))
    })
    child.once("error", (error) => runFork(Deferred.complete(ready, startFailed(error.message))))
    yield* Deferred.await(ready).pipe(
      Effect.timeoutFail({
        duration: "2 minutes",
        onTimeout: () => startFailed("it was not ready after 2 minutes")
      })
    )
    return Deferred.await(ended)
  })
