/**
 * nginx and HAProxy in front of two servers, with the files of docker/proxies, in which only ports and certificate are
 * replaced. Each runs in its own folder until the scope ends.
 */
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Schedule } from "effect"
import { certificate } from "./Certificates.ts"
import { freePort } from "./FreePort.ts"

const { cert, key } = certificate("valid")

const KINDS = {
  nginx: {
    file: "nginx.conf",
    listens: "listen 443 ssl",
    at: (port: number) => `listen 127.0.0.1:${port} ssl`,
    version: "-v",
    command: (file: string, folder: string) => ["-p", folder, "-c", file, "-g", "daemon off; pid nginx.pid;"]
  },
  haproxy: {
    file: "haproxy.cfg",
    listens: "bind :443 ssl",
    at: (port: number) => `bind 127.0.0.1:${port} ssl`,
    version: "-v",
    command: (file: string) => ["-db", "-f", file]
  }
} as const

export type Kind = keyof typeof KINDS

/** Whether it is installed here; `.ci/run` installs both. */
export const isThere = (kind: Kind) => {
  try {
    execFileSync(kind, [KINDS[kind].version], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}

/** Each replaced text must occur, so that the test really uses the file. */
const replaced = (text: string, replacements: Readonly<Record<string, string>>) =>
  Object.entries(replacements).reduce((file, [what, by]) => {
    if (!file.includes(what)) throw new Error(`The example does not have ${what}.`)
    return file.replaceAll(what, by)
  }, text)

const answers = (port: number) =>
  Effect.async<void, "not yet">((resume) => {
    const socket = connect(port, "127.0.0.1")
    socket.once("connect", () => resume(Effect.void)).once("error", () => resume(Effect.fail("not yet")))
    return Effect.sync(() => socket.destroy())
  })

/** Its TLS port, once it listens. */
export const balanced = (kind: Kind, [first, second]: readonly [number, number]) =>
  Effect.gen(function* () {
    const { at, command, file, listens } = KINDS[kind]
    const port = yield* freePort
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), `posthorn-${kind}-`))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const example = readFileSync(
      fileURLToPath(new URL(`../../../docker/proxies/${file}`, import.meta.url)),
      "utf8"
    )
    const pem = { "fullchain.pem": cert, "privkey.pem": key, "both.pem": `${cert}\n${key}` }
    for (const [name, text] of Object.entries(pem)) writeFileSync(join(folder, name), text, { mode: 0o600 })
    const own = replaced(example, {
      [listens]: at(port),
      "/etc/ssl/posthorn/": `${folder}/`,
      "127.0.0.1:8484": `127.0.0.1:${first}`,
      "127.0.0.1:8485": `127.0.0.1:${second}`
    })
    const path = join(folder, file)
    writeFileSync(path, own)
    let said = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(kind, command(path, folder), { stdio: ["ignore", "ignore", "pipe"] })),
      (one) => Effect.sync(() => one.kill("SIGTERM"))
    )
    child.stderr.on("data", (chunk) => (said += chunk))
    process.once("exit", () => child.kill("SIGKILL"))
    yield* Effect.retry(
      answers(port),
      Schedule.intersect(Schedule.spaced("50 millis"), Schedule.recurs(200))
    ).pipe(Effect.orDieWith(() => new Error(`${kind} does not listen: ${said}`)))
    return port
  })
