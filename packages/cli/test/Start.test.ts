/** The command as a stranger meets it: real processes, a real database folder, the lines that are printed. */
import { execFile, spawn } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

const root = fileURLToPath(new URL("../../..", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "posthorn-start-"))
const main = join(root, "build", "posthorn.mjs")

const STOPPING = "Stopping: what is in flight is finished first; Ctrl-C again stops at once.\n"

const SECRETS = {
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
  OPERATOR_TOKEN: "0123456789abcdef0123456789abcdef"
}

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

/** Everything a stream has said by the time it says this. */
const saidUntil = (stream: Readable, text: string) =>
  new Promise<string>((resolve, reject) => {
    let said = ""
    stream.on("data", (chunk) => {
      said += chunk
      if (said.includes(text)) resolve(said)
    })
    stream.once("close", () => reject(new Error(`It ended without "${text}": ${said}`)))
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
}, 240_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("npm start", () => {
  it("decision §1 delivers a verified webhook, leaves no process behind, and keeps the data", async () => {
    const dataDir = join(folder, "data")

    const first = await startAndStop({ DATA_DIR: dataDir })
    const left = await processesIn(dataDir)
    const second = await startAndStop({ DATA_DIR: dataDir })

    assert.match(lineOf(first.out, "First webhook"), /whd_[0-9a-f]{29} · 200 · signature verified/)
    assert.match(lineOf(first.out, "Migrations"), /\d+ applied/)
    assert.match(first.out, /curl http:\/\/127\.0\.0\.1:\d+\/workspaces\/acme\/events/)
    assert.isAtMost(first.out.trim().split("\n").length, 20)
    assert.match(first.out, /Attempts +curl \S+\/whd_[0-9a-f]{29}\/attempts .*\n\n +Ctrl-C stops everything/)
    assert.strictEqual(left, "")
    assert.match(lineOf(second.out, "Migrations"), /up to date/)
    assert.match(lineOf(second.out, "First webhook"), /signature verified/)
    const token = /Bearer (phk_\w+)/
    assert.strictEqual(token.exec(second.out)?.[1], token.exec(first.out)?.[1])
    assert.strictEqual(second.err.replace(STOPPING, ""), "")
    const { url } = JSON.parse(readFileSync(join(dataDir, "postgres.json"), "utf8"))
    assert.match(url, /^postgresql:\/\/postgres:\S+@127\.0\.0\.1:\d+\/postgres$/)
    assert.include(lineOf(second.out, "psql"), join(dataDir, "postgres.json"))
  }, 240_000)

  it("decision §1 says so when the environment replaces dev's own targets", async () => {
    const { out } = await startAndStop({ DATA_DIR: join(folder, "closed"), DELIVERY_ALLOWED_TARGETS: "" })

    assert.include(lineOf(out, "Demo workspace"), "no demo endpoint")
    assert.notInclude(out, "First webhook")
  }, 240_000)
})

describe("what a role loads", () => {
  /** The packages whose code is read once these files of the bundle are, going by the names the bundler leaves in it. */
  const packagesOf = (files: ReadonlyArray<string>) => {
    const read = new Set(files)
    const packages = new Set<string>()
    for (const file of read) {
      const text = readFileSync(join(root, "build", file), "utf8")
      for (const [, chunk] of text.matchAll(/^(?:\} from|import) "\.\/(.+\.mjs)";$/gm)) read.add(chunk!)
      for (const [, own, other] of text.matchAll(
        /^ *\/\/ (?:packages\/([\w-]+)|node_modules\/.*\/node_modules\/(@?[\w-]+))\//gm
      ))
        packages.add((own ?? other)!)
    }
    return packages
  }

  it("decision §1 makes a worker of no code that only the server needs", () => {
    const [, work] = /import\("\.\/(Work-\w+\.mjs)"\)/.exec(readFileSync(main, "utf8"))!

    const packages = packagesOf(["posthorn.mjs", work!])

    assert.includeMembers([...packages], ["worker", "persistence", "effect", "undici"])
    for (const name of ["server", "capabilities", "@modelcontextprotocol", "zod"])
      assert.isFalse(packages.has(name), name)
  })

  it("decision §6 makes a server that goes to Redis when there is REDIS_URL", async () => {
    const redis = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => redis.once("listening", resolve))
    const { port } = redis.address() as { port: number }
    const asked = new Promise<string>((resolve) =>
      redis.once("connection", (socket) => socket.once("data", (data) => resolve(String(data))))
    )
    const serveOn = (database: Redacted.Redacted) =>
      Effect.promise(async () => {
        const urls = { DATABASE_URL: Redacted.value(database), REDIS_URL: `redis://127.0.0.1:${port}` }
        const child = spawn(process.execPath, [main, "serve"], {
          env: environmentOf({ ...SECRETS, ...urls, PORT: "0" }),
          stdio: "ignore"
        })
        const ended = new Promise<string>((resolve) => child.once("close", () => resolve("")))
        const first = await Promise.race([asked, ended])
        child.kill("SIGKILL")
        await ended
        return first
      })

    const first = await Effect.runPromise(Effect.scoped(Effect.flatMap(freshDatabase, serveOn)))
    redis.close()

    assert.include(first, "HELLO")
  })
})

describe("a stop that takes a moment", () => {
  it("decision §1 says that what is in flight is finished first", async () => {
    const held: Array<Socket> = []
    const slow = createServer((socket) => held.push(socket)).listen(0, "127.0.0.1")
    await new Promise((resolve) => slow.once("listening", resolve))
    const { port } = slow.address() as { port: number }
    const child = spawn(process.execPath, [main, "dev"], {
      env: environmentOf({ PORT: "0", HOST: "0.0.0.0", DATA_DIR: join(folder, "slow") }),
      stdio: ["ignore", "pipe", "pipe"]
    })
    const ended = new Promise((resolve) => child.once("close", resolve))
    const err = saidUntil(child.stderr, STOPPING)
    const out = await saidUntil(child.stdout, "Ctrl-C stops")
    const [, base, token] = /curl (http:\S+\/workspaces\/acme)\/events .*Bearer (\w+)/.exec(out)!
    const post = (path: string, body: unknown) =>
      fetch(`${base}${path}`, {
        method: "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        body: JSON.stringify(body)
      })
    await post("/webhooks", { url: `http://127.0.0.1:${port}/`, eventTypes: ["slow.one"] })
    const arrived = new Promise((resolve) => slow.once("connection", resolve))
    await post("/events", { eventType: "slow.one", payload: {} })
    await arrived

    child.kill("SIGINT")
    const said = await err
    for (const socket of held) socket.end("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
    await ended
    slow.close()

    assert.include(said, "Warning: with HOST=0.0.0.0 the network can reach this dev instance")
    assert.strictEqual(said.split(STOPPING).length, 2)
  }, 240_000)
})

describe("a start that cannot be", () => {
  it.each([
    ["damaged", '{"operatorToken":"pho_', /dev\.json cannot be read \(it is damaged\)\. .* restore the file/],
    ["without its key", "{}", /dev\.json cannot be read \(it is damaged\)/],
    ["missing", undefined, /dev\.json is missing, .* Restore the file, or set DATA_DIR/]
  ])("decision §1 never replaces a dev.json that is %s", async (_, text, line) => {
    const dataDir = mkdtempSync(join(folder, "kept-"))
    const file = join(dataDir, "dev.json")
    mkdirSync(join(dataDir, "postgres"))
    if (text !== undefined) writeFileSync(file, text)

    const { code, err } = await run(["dev"], { DATA_DIR: dataDir, PORT: "0" })

    assert.strictEqual(code, 1)
    assert.match(err, line)
    assert.strictEqual(err.trim().split("\n").length, 1)
    assert.notInclude(err, "pho_")
    assert.strictEqual(existsSync(file) ? readFileSync(file, "utf8") : undefined, text)
  })

  it("decision §1 says in one line that dev is not for production", async () => {
    const { code, err } = await run(["dev"], { NODE_ENV: "production", DATA_DIR: join(folder, "production") })

    assert.strictEqual(code, 1)
    assert.match(err, /^posthorn: NODE_ENV is production, but dev delivers to this machine\. .*\n$/)
  })

  it("decision §1 says in one line that this machine has no such address", async () => {
    const { code, err } = await run(["dev"], { HOST: "203.0.113.9", DATA_DIR: join(folder, "elsewhere") })

    assert.strictEqual(code, 1)
    assert.strictEqual(err, "posthorn: Cannot listen there (EADDRNOTAVAIL). Check HOST and PORT.\n")
  })

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

  it("decision §1 warns of variables that nobody reads, without their values", async () => {
    const { err } = await run(["migrate"], { OPERATR_TOKEN: "hunter2", NODE_ENV: "prod" })

    assert.match(err, /^posthorn: Warning: OPERATR_TOKEN is set, .* did you mean OPERATOR_TOKEN\?$/m)
    assert.match(err, /^posthorn: Warning: NODE_ENV is "prod", .* did you mean production\?$/m)
    assert.match(err, /^posthorn: DATABASE_URL is not set/m)
    assert.notInclude(err, "hunter2")
  })

  it("decision §1 names the right that a migrating role lacks", async () => {
    const migrateAs = (database: Redacted.Redacted) =>
      Effect.promise(async () => {
        const url = new URL(Redacted.value(database))
        const owner = new pg.Client(url.href)
        await owner.connect()
        const name = url.pathname.slice(1)
        const role = `weak_${name}`
        await owner.query("drop schema posthorn cascade")
        await owner.query(`create role ${role} login password 'x'`)
        ;[url.username, url.password] = [role, "x"]
        const weak = await run(["migrate"], { DATABASE_URL: url.href })
        await owner.query(`grant create on database ${name} to ${role}`)
        const granted = await run(["migrate"], { DATABASE_URL: url.href })
        await owner.query(`drop owned by ${role} cascade`)
        await owner.query(`drop role ${role}`)
        await owner.end()
        return { weak, granted, name, role }
      })
    const { granted, name, role, weak } = await Effect.runPromise(
      Effect.scoped(Effect.flatMap(freshDatabase, migrateAs))
    )

    assert.strictEqual(weak.code, 1)
    assert.include(weak.err, `The role ${role} lacks a right (permission denied for database ${name}).`)
    assert.include(weak.err, `grant create on database ${name} to ${role};`)
    assert.deepStrictEqual([granted.code, granted.err], [0, ""])
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
          ...SECRETS
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
