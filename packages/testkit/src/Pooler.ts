/**
 * PgBouncer in front of a PostgreSQL, configured as in production. Its timeouts are short, so that clients
 * learn soon that the server is gone.
 */
import { execFileSync, spawn } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { freePort } from "./FreePort.ts"
import { until } from "./Until.ts"

type Mode = "transaction" | "session"

const settings = (url: URL, port: number, mode: Mode) => `
[databases]
* = host=${url.hostname} port=${url.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = users.txt
pool_mode = ${mode}
max_client_conn = 200
default_pool_size = 20
server_connect_timeout = 2
server_login_retry = 1
query_wait_timeout = 5
ignore_startup_parameters = extra_float_digits
`

/** Whether this machine has PgBouncer; `.ci/run` installs it. */
export const isThere = () => {
  try {
    execFileSync("pgbouncer", ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** Refuses to run as root. */
const account = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

const listens = (port: number) =>
  Effect.async<boolean>((resume) => {
    const socket = connect(port, "127.0.0.1")
    const answer = (isThere: boolean) => {
      socket.destroy()
      resume(Effect.succeed(isThere))
    }
    socket.once("connect", () => answer(true)).once("error", () => answer(false))
  })

/** The URL through a new pooler. */
export const pooled = (text: string, mode: Mode = "transaction") =>
  Effect.gen(function* () {
    const url = new URL(text)
    const port = yield* freePort
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "posthorn-pooler-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    chmodSync(folder, 0o755)
    writeFileSync(join(folder, "pgbouncer.ini"), settings(url, port, mode))
    writeFileSync(join(folder, "users.txt"), `"${url.username}" "${decodeURIComponent(url.password)}"\n`)
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn("pgbouncer", ["-q", "pgbouncer.ini"], { ...account, cwd: folder, stdio: "ignore" })
      ),
      (one) => Effect.sync(() => one.kill("SIGKILL"))
    )
    process.once("exit", () => child.kill("SIGKILL"))
    yield* Effect.orDie(until(listens(port), Boolean))
    url.port = String(port)
    return url.href
  })
