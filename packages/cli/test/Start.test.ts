/** The command as a stranger meets it: real processes, a real database folder, the lines that are printed. */
import { execFile, spawn } from "node:child_process"
import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { Effect, Redacted } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "posthorn-start-"))
const main = join(root, "build", "posthorn.mjs")

type Environment = Readonly<Record<string, string>>

/** Only what a fresh shell has, and what the test says. */
const environmentOf = (more: Environment): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  ...more
})

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Run to the end. */
const run = (args: ReadonlyArray<string>, environment: Environment = {}) =>
  new Promise<Ended>((resolve) => {
    execFile(
      process.execPath,
      [main, ...args],
      { env: environmentOf(environment), timeout: 20_000 },
      (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err })
    )
  })

/** `npm start` until it says how to stop, then Ctrl-C. */
const startAndStop = (environment: Environment) =>
  new Promise<Ended>((resolve) => {
    const child = spawn(process.execPath, [join(root, "scripts", "start.mjs")], {
      env: environmentOf({ PORT: "0", ...environment }),
      stdio: ["ignore", "pipe", "pipe"]
    })
    let out = ""
    let err = ""
    child.stderr.on("data", (chunk) => {
      err += chunk
    })
    child.stdout.on("data", (chunk) => {
      const before = out
      out += chunk
      if (!before.includes("Ctrl-C stops") && out.includes("Ctrl-C stops")) child.kill("SIGINT")
    })
    child.once("close", (code) => resolve({ code: code ?? -1, out, err }))
  })

const processesIn = (dataDir: string) =>
  new Promise<string>((resolve) => {
    execFile("ps", ["-eo", "args"], (_, out) =>
      resolve(
        out
          .split("\n")
          .filter((line) => line.includes(dataDir))
          .join("\n")
      )
    )
  })

const lineOf = (out: string, label: string) => out.split("\n").find((line) => line.includes(label)) ?? ""

beforeAll(async () => {
  const { bundle } = (await import(join(root, "scripts", "bundle.mjs"))) as { bundle: () => Promise<void> }
  await bundle()
}, 60_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("npm start", () => {
  it("decision §1 delivers a verified webhook, leaves no process behind, and keeps the data", async () => {
    const dataDir = join(folder, "data")

    const first = await startAndStop({ DATA_DIR: dataDir })
    const left = await processesIn(dataDir)
    const second = await startAndStop({ DATA_DIR: dataDir })

    assert.match(lineOf(first.out, "First webhook"), /whd_[0-9a-f]{29} · 200 · signature verified/)
    assert.match(lineOf(first.out, "Migrations"), /\d+ applied/)
    assert.match(first.out, /curl http:\/\/127\.0\.0\.1:\d+\/workspaces\/demo\/events/)
    assert.isAtMost(first.out.trim().split("\n").length, 20)
    assert.strictEqual(left, "")
    assert.match(lineOf(second.out, "Migrations"), /up to date/)
    assert.match(lineOf(second.out, "First webhook"), /signature verified/)
    const token = /Bearer (phk_\w+)/
    assert.strictEqual(token.exec(second.out)?.[1], token.exec(first.out)?.[1])
    assert.strictEqual(second.err, "")
  }, 60_000)

  it("decision §1 says so when the environment replaces dev's own targets", async () => {
    const { out } = await startAndStop({ DATA_DIR: join(folder, "closed"), DELIVERY_ALLOWED_TARGETS: "" })

    assert.include(lineOf(out, "Demo workspace"), "no demo endpoint")
    assert.notInclude(out, "First webhook")
  }, 60_000)
})

describe("a start that cannot be", () => {
  it("decision §1 names each bad variable in a line of its own", async () => {
    const { code, err } = await run(["dev"], {
      PORT: "http",
      WORKER_BATCH_SIZE: "0",
      DATA_DIR: join(folder, "bad")
    })

    assert.strictEqual(code, 1)
    assert.strictEqual(err.trim().split("\n").length, 2)
    assert.include(err, 'PORT is "http", but must be')
  })

  it("decision §1 names each variable that serve and work need", async () => {
    const serve = await run(["serve"])
    const work = await run(["work"])

    assert.deepStrictEqual([serve.code, work.code], [1, 1])
    for (const name of ["DATABASE_URL", "ENCRYPTION_KEY", "OPERATOR_TOKEN"])
      assert.include(serve.err, `${name} is not set`)
    assert.notInclude(work.err, "OPERATOR_TOKEN")
  })

  it("decision §1 says in one line that the database cannot be reached", async () => {
    const { code, err } = await run(["migrate"], { DATABASE_URL: "postgresql://u:hunter2@127.0.0.1:1/x" })

    assert.strictEqual(code, 1)
    assert.match(
      err,
      /^posthorn: The database of DATABASE_URL cannot be reached: nothing listens there\..*\n$/
    )
    assert.notInclude(err, "hunter2")
  })

  it("decision §1 says in one line that the port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => other.once("listening", resolve))
    const { port } = other.address() as { port: number }

    const serveOn = (database: Redacted.Redacted) =>
      Effect.promise(() =>
        run(["serve"], {
          DATABASE_URL: Redacted.value(database),
          PORT: String(port),
          ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
          OPERATOR_TOKEN: "0123456789abcdef0123456789abcdef"
        })
      )
    const { code, err } = await Effect.runPromise(Effect.scoped(Effect.flatMap(freshDatabase, serveOn)))
    other.close()

    assert.strictEqual(code, 1)
    assert.match(err, /^posthorn: The port is taken\..*\n$/)
  })

  it("decision §1 says in one line that the data folder cannot be written", async () => {
    const dataDir = mkdtempSync(join(folder, "locked-"))
    chmodSync(dataDir, 0o500)
    const target = process.getuid?.() === 0 ? "/dev/null/data" : join(dataDir, "data")

    const { code, err } = await run(["dev"], { DATA_DIR: target, PORT: "0" })

    assert.strictEqual(code, 1)
    assert.match(err, /^posthorn: The data folder .* cannot be written .*\n$/)
  })

  it("answers help, version and what it does not know", async () => {
    const help = await run(["help"])
    const version = await run(["--version"])
    const unknown = await run(["fly"])

    assert.include(help.out, "Usage: posthorn <command>")
    assert.match(version.out, /^\d+\.\d+\.\d+\n$/)
    assert.strictEqual(unknown.code, 2)
    assert.match(unknown.err, /^posthorn knows no command fly/)
  })
})
