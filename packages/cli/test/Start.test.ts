/** The command as a new user sees it: real processes, a real database folder, the printed lines. */
import { execFile } from "node:child_process"
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { makeBundle, runCommand, startCommand } from "@posthorn/testkit/Command"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { assert, beforeAll, describe, it } from "vitest"
import { folder, lineOf, root, STOPPING, startAndStop } from "./Start.ts"

const SECRETS = {
  ENCRYPTION_KEY: Buffer.alloc(32, 1).toString("base64"),
  OPERATOR_TOKEN: "0123456789abcdef0123456789abcdef"
}

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

beforeAll(makeBundle, 240_000)

describe("npm start", () => {
  it("§10 delivers a verified webhook, leaves no process behind, and keeps the data", async () => {
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
})

describe("the code that a role loads", () => {
  const textOf = (file: string) => readFileSync(join(root, "build", file), "utf8")

  /** These files of the bundle, and their static imports. */
  const readWith = (...files: ReadonlyArray<string>) => {
    const read = new Set(files)
    for (const file of read)
      for (const [, chunk] of textOf(file).matchAll(/\b(?:from|import)\s*"\.\/(.+?\.mjs)"/g)) read.add(chunk!)
    return [...read]
  }

  /** The packages whose code is in a file, by the bundler's map of its sources. */
  const packagesIn = (file: string) => {
    const { sources } = JSON.parse(textOf(`${file}.map`)) as { readonly sources: ReadonlyArray<string> }
    return sources.flatMap((path) => {
      const [, own, other] = /\bpackages\/([\w-]+)\/|.*\/node_modules\/(@?[\w-]+)\//.exec(path) ?? []
      return own ?? other ?? []
    })
  }

  it("§10 starts a worker without code that only the server needs", () => {
    const atOnce = readWith("posthorn.mjs").map(textOf).join("")
    const [, work] = /import\("\.\/(Work-\w+\.mjs)"\)/.exec(atOnce)!

    const packages = new Set(readWith("posthorn.mjs", work!).flatMap(packagesIn))

    assert.includeMembers([...packages], ["worker", "persistence", "effect", "undici"])
    for (const name of ["server", "capabilities", "@modelcontextprotocol", "zod"])
      assert.isFalse(packages.has(name), name)
  })

  it("§10 exports something wherever it is loaded on demand", () => {
    const files = new Set(["posthorn.mjs"])
    const onDemand = new Set<string>()
    for (const file of files)
      for (const [, call, chunk] of textOf(file).matchAll(
        /\b(?:from\s*|import\s*(\(\s*)?)"\.\/(.+?\.mjs)"/g
      )) {
        files.add(chunk!)
        if (call !== undefined) onDemand.add(chunk!)
      }
    assert.isAbove(onDemand.size, 10)
    assert.deepEqual(
      [...onDemand].filter((file) => !/\bexport\s*\{\s*\w/.test(textOf(file))),
      []
    )
  })

  it("§8.1 starts a server that uses Redis when REDIS_URL is set", async () => {
    const redis = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => redis.once("listening", resolve))
    const { port } = redis.address() as { port: number }
    const asked = new Promise<string>((resolve) =>
      redis.once("connection", (socket) => socket.once("data", (data) => resolve(String(data))))
    )
    const serveOn = (database: Redacted.Redacted) =>
      Effect.promise(async () => {
        const urls = { DATABASE_URL: Redacted.value(database), REDIS_URL: `redis://127.0.0.1:${port}` }
        const child = startCommand(["serve"], { ...SECRETS, ...urls, PORT: "0" })
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

describe("a start that fails", () => {
  it.each([
    ["damaged", '{"operatorToken":"pho_', /dev\.json cannot be read \(it is damaged\)\. .* restore the file/],
    ["without its key", "{}", /dev\.json cannot be read \(it is damaged\)/],
    ["missing", undefined, /dev\.json is missing, .* Restore the file, or set DATA_DIR/]
  ])("§10 never replaces a dev.json that is %s", async (_, text, line) => {
    const dataDir = mkdtempSync(join(folder, "kept-"))
    const file = join(dataDir, "dev.json")
    mkdirSync(join(dataDir, "postgres"))
    if (text !== undefined) writeFileSync(file, text)

    const { code, err } = await runCommand(["dev"], { DATA_DIR: dataDir, PORT: "0" })

    assert.strictEqual(code, 1)
    assert.match(err, line)
    assert.strictEqual(err.trim().split("\n").length, 1)
    assert.notInclude(err, "pho_")
    assert.strictEqual(existsSync(file) ? readFileSync(file, "utf8") : undefined, text)
  })

  it("§10 says in one line that dev is not for production", async () => {
    const { code, err } = await runCommand(["dev"], {
      NODE_ENV: "production",
      DATA_DIR: join(folder, "production")
    })

    assert.strictEqual(code, 1)
    assert.match(err, /^posthorn: NODE_ENV is production, but dev delivers to this machine\. .*\n$/)
  })

  it("§10 says in one line that this machine does not have such an address", async () => {
    const { code, err } = await runCommand(["dev"], {
      HOST: "203.0.113.9",
      DATA_DIR: join(folder, "elsewhere")
    })

    assert.strictEqual(code, 1)
    assert.strictEqual(err, "posthorn: Cannot listen there (EADDRNOTAVAIL). Check HOST and PORT.\n")
  })

  it("§10 names each bad variable on a line of its own", async () => {
    const { code, err } = await runCommand(["dev"], {
      PORT: "http",
      WORKER_BATCH_SIZE: "0",
      DATA_DIR: join(folder, "bad")
    })

    assert.strictEqual(code, 1)
    assert.strictEqual(err.trim().split("\n").length, 2)
    assert.include(err, 'PORT is "http", but must be')
  })

  it("§10 warns of unknown variables, without their values", async () => {
    const { err } = await runCommand(["migrate"], { OPERATR_TOKEN: "hunter2", NODE_ENV: "prod" })

    assert.match(err, /^posthorn: Warning: OPERATR_TOKEN is set, .* did you mean OPERATOR_TOKEN\?$/m)
    assert.match(err, /^posthorn: Warning: NODE_ENV is "prod", .* did you mean production\?$/m)
    assert.match(err, /^posthorn: DATABASE_URL is not set/m)
    assert.notInclude(err, "hunter2")
  })

  it("§10 names the right that a migrating role lacks", async () => {
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
        const weak = await runCommand(["migrate"], { DATABASE_URL: url.href })
        await owner.query(`grant create on database ${name} to ${role}`)
        const granted = await runCommand(["migrate"], { DATABASE_URL: url.href })
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

  it("§10 names each variable that serve and work need", async () => {
    const serve = await runCommand(["serve"])
    const work = await runCommand(["work"])

    assert.deepStrictEqual([serve.code, work.code], [1, 1])
    for (const name of ["DATABASE_URL", "ENCRYPTION_KEY", "OPERATOR_TOKEN"])
      assert.include(serve.err, `${name} is not set`)
    assert.notInclude(work.err, "OPERATOR_TOKEN")
  })

  it("§10 says in one line that the database cannot be reached", async () => {
    const { code, err } = await runCommand(["migrate"], {
      DATABASE_URL: "postgresql://u:hunter2@127.0.0.1:1/x"
    })

    assert.strictEqual(code, 1)
    assert.match(
      err,
      /^posthorn: The database of DATABASE_URL cannot be reached: nothing listens there\..*\n$/
    )
    assert.notInclude(err, "hunter2")
  })

  it("§10 says in one line that the port is taken", async () => {
    const other = createServer().listen(0, "127.0.0.1")
    await new Promise((resolve) => other.once("listening", resolve))
    const { port } = other.address() as { port: number }

    const serveOn = (database: Redacted.Redacted) =>
      Effect.promise(() =>
        runCommand(["serve"], {
          DATABASE_URL: Redacted.value(database),
          PORT: String(port),
          ...SECRETS
        })
      )
    const { code, err } = await Effect.runPromise(Effect.scoped(Effect.flatMap(freshDatabase, serveOn)))
    other.close()

    assert.strictEqual(code, 1)
    const [line, ...more] = err.trimEnd().split("\n")
    assert.deepStrictEqual(more, [])
    assert.strictEqual(
      JSON.parse(line!).message,
      `posthorn: Port ${port} is taken. Set PORT to another one, or stop what listens there.`
    )
  })

  it("§10 says in one line that the data folder cannot be written", async () => {
    const dataDir = mkdtempSync(join(folder, "locked-"))
    chmodSync(dataDir, 0o500)
    const target = process.getuid?.() === 0 ? "/dev/null/data" : join(dataDir, "data")

    const { code, err } = await runCommand(["dev"], { DATA_DIR: target, PORT: "0" })

    assert.strictEqual(code, 1)
    assert.match(err, /^posthorn: The data folder .* cannot be written .*\n$/)
  })

  it("answers help, version and unknown commands", async () => {
    const help = await runCommand(["help"])
    const version = await runCommand(["--version"])
    const unknown = await runCommand(["fly"])

    assert.include(help.out, "Usage: posthorn <command>")
    assert.match(version.out, /^\d+\.\d+\.\d+\n$/)
    assert.strictEqual(unknown.code, 2)
    assert.match(unknown.err, /^posthorn knows no command fly/)
  })
})
