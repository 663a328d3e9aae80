import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted, Schedule } from "effect"
import pg from "pg"
import * as EmbeddedPostgres from "../src/EmbeddedPostgres.ts"
import { accountFor } from "../src/internal/PostgresAccount.ts"
import { locate, prepareBinaries } from "../src/internal/PostgresBinaries.ts"
import { liveServer } from "../src/internal/PostgresLock.ts"

const isRoot = process.getuid?.() === 0

/** A folder as a clone would have it, and its removal. */
const folder = Effect.acquireRelease(
  Effect.sync(() => join(fs.mkdtempSync(join(tmpdir(), "posthorn-embedded-")), ".data")),
  (dataDir) => Effect.sync(() => fs.rmSync(join(dataDir, ".."), { recursive: true, force: true }))
)

const clusterIn = (dataDir: string) => join(dataDir, "postgres")

const query = (url: Redacted.Redacted | string, text: string) =>
  Effect.tryPromise(async () => {
    const client = new pg.Client({ connectionString: typeof url === "string" ? url : Redacted.value(url) })
    client.on("error", () => {})
    await client.connect()
    try {
      return (await client.query(text)).rows as ReadonlyArray<Record<string, unknown>>
    } finally {
      await client.end()
    }
  })

const remember = (url: Redacted.Redacted | string) => query(url, "create table kept as select 42 as answer")

const recall = (url: Redacted.Redacted | string) =>
  query(url, "select answer from kept").pipe(Effect.map((rows) => rows[0]?.answer))

const until = (condition: () => boolean) =>
  Effect.sync(condition).pipe(
    Effect.repeat({ until: (met) => met, schedule: Schedule.spaced("10 millis") }),
    Effect.timeout("10 seconds")
  )

/** Starts in a scope of its own, so that the server is down again when `use` has ended. */
const withServer = <A, E>(
  options: EmbeddedPostgres.Options,
  use: (server: EmbeddedPostgres.Running) => Effect.Effect<A, E>
) => Effect.scoped(Effect.flatMap(EmbeddedPostgres.start(options), use))

const refusal = (options: EmbeddedPostgres.Options) =>
  Effect.scoped(Effect.flip(EmbeddedPostgres.start(options)))

const listening = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number }
      resume(Effect.succeed({ port, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

interface Held {
  readonly child: ChildProcess
  readonly url: string
  readonly said: ReadonlyArray<string>
}

/** Another Posthorn, in a process group of its own, as a shell starts one. */
const anotherProcess = (dataDir: string) =>
  Effect.acquireRelease(
    Effect.promise(async (): Promise<Held> => {
      const script = fileURLToPath(new URL("fixtures/HoldPostgres.ts", import.meta.url))
      const child = spawn(process.execPath, ["--import", "tsx", script, dataDir], {
        cwd: fileURLToPath(new URL("..", import.meta.url)),
        detached: true,
        stdio: ["ignore", "pipe", "pipe"]
      })
      const said: Array<string> = []
      createInterface({ input: child.stderr as Readable }).on("line", (line) => said.push(line))
      const [url] = await once(createInterface({ input: child.stdout as Readable }), "line")
      return { child, url, said }
    }),
    ({ child }) => Effect.sync(() => child.exitCode ?? child.signalCode ?? child.kill("SIGKILL"))
  )

const ended = (child: ChildProcess) =>
  Effect.promise(async () =>
    child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined
  )

describe("data", () => {
  it.scopedLive("decision §1 creates a database in the data folder and finds its data again", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder

      const first = yield* withServer({ dataDir }, (server) => Effect.as(remember(server.url), server))
      const second = yield* withServer({ dataDir }, (server) =>
        Effect.zip(recall(server.url), Effect.succeed(server))
      )

      expect(first.created).toBe(true)
      expect(second[0]).toBe(42)
      expect(second[1].created).toBe(false)
      expect(liveServer(clusterIn(dataDir))).toBeUndefined()
    })
  )

  it.scopedLive("keeps the data when the file with password and port is lost", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      yield* withServer({ dataDir }, (server) => remember(server.url))

      fs.rmSync(join(dataDir, "postgres.json"))

      expect(yield* withServer({ dataDir }, (server) => recall(server.url))).toBe(42)
    })
  )

  it.scopedLive("starts though a postmaster.pid names a process that is no server of this folder", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      yield* withServer({ dataDir }, (server) => remember(server.url))

      fs.writeFileSync(join(clusterIn(dataDir), "postmaster.pid"), `${process.pid}\n${clusterIn(dataDir)}\n`)

      expect(yield* withServer({ dataDir }, (server) => recall(server.url))).toBe(42)
    })
  )

  it.scopedLive("syncs and logs as a database must that answers only for what is durable", () =>
    Effect.gen(function* () {
      const settings =
        "select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit')"

      const rows = yield* withServer({ dataDir: yield* folder }, (server) => query(server.url, settings))

      expect(rows.map((row) => row.setting)).toEqual(["on", "on", "on"])
    })
  )
})

describe("access", () => {
  it.scopedLive("listens on 127.0.0.1 only, and on no socket in the file system", () =>
    Effect.gen(function* () {
      const [row] = yield* withServer({ dataDir: yield* folder }, (server) =>
        query(
          server.url,
          "select current_setting('listen_addresses') as addresses, current_setting('unix_socket_directories') as sockets"
        )
      )

      expect(row).toEqual({ addresses: "127.0.0.1", sockets: "" })
    })
  )

  it.scopedLive("asks for a password that only the data folder's owner can read", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder

      const refused = yield* withServer({ dataDir }, ({ port }) =>
        Effect.flip(query(`postgresql://postgres:guess@127.0.0.1:${port}/postgres`, "select 1"))
      )

      expect((refused.cause as { code?: string }).code).toBe("28P01")
      expect(fs.statSync(join(dataDir, "postgres.json")).mode & 0o777).toBe(0o600)
    })
  )

  it.scopedLive("listens on the port it had last, and on another one when that is taken", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const port = ({ port }: EmbeddedPostgres.Running) => Effect.succeed(port)
      const first = yield* withServer({ dataDir }, port)

      const again = yield* withServer({ dataDir }, port)
      const taken = yield* listening
      const settings = JSON.parse(fs.readFileSync(join(dataDir, "postgres.json"), "utf8"))
      fs.writeFileSync(join(dataDir, "postgres.json"), JSON.stringify({ ...settings, port: taken.port }))
      const other = yield* withServer({ dataDir }, port)

      expect(again).toBe(first)
      expect(other).not.toBe(taken.port)
    })
  )
})

describe("refusals, each in one line", () => {
  it.scopedLive("a port that was insisted on is taken", () =>
    Effect.gen(function* () {
      const { port } = yield* listening

      const error = yield* refusal({ dataDir: yield* folder, port })

      expect(error.reason).toBe("PortTaken")
      expect(error.message).toMatch(new RegExp(`^Port ${port} is taken[^\\n]*$`))
    })
  )

  it.scopedLive("the data folder cannot be written", () =>
    Effect.gen(function* () {
      const parent = join(yield* folder, "..")
      fs.chmodSync(parent, 0o555)

      const error = yield* refusal({ dataDir: isRoot ? "/proc/posthorn/.data" : join(parent, ".data") })

      fs.chmodSync(parent, 0o755)
      expect(error.reason).toBe("FolderUnwritable")
      expect(error.message).toMatch(/^The data folder [^\n]*\.data cannot be written \([^\n]*DATA_DIR[^\n]*$/)
    })
  )

  it.scopedLive("a file stands where the data folder should be", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      fs.writeFileSync(dataDir, "")

      const error = yield* refusal({ dataDir })

      expect(error.reason).toBe("FolderUnwritable")
      expect(error.message).toContain("a file stands where a folder should be")
    })
  )

  it.scopedLive("another live Posthorn uses the data folder, and goes on undisturbed", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const { url } = yield* EmbeddedPostgres.start({ dataDir })

      const error = yield* refusal({ dataDir })

      expect(error.reason).toBe("FolderInUse")
      expect(error.message).toMatch(new RegExp(`^Another Posthorn \\(process ${process.pid}\\)[^\\n]*$`))
      yield* query(url, "select 1")
    })
  )

  it.effect("there are no programs for the machine", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(locate("sunos-sparc"))

      expect(error.reason).toBe("UnsupportedPlatform")
      expect(error.message).toMatch(
        /^No embedded PostgreSQL for this machine \(sunos-sparc[^\n]*DATABASE_URL[^\n]*$/
      )
    })
  )
})

describe("the end", () => {
  it.scopedLive("tells when the server dies while it is needed", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const running = yield* EmbeddedPostgres.start({ dataDir })

      process.kill(liveServer(clusterIn(dataDir)) ?? Number.NaN, "SIGKILL")
      const error = yield* Effect.flip(running.ended)

      expect(error.reason).toBe("Stopped")
    })
  )

  it.scopedLive("Ctrl-C ends server and Posthorn without a word, and the data stays", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const { child, said, url } = yield* anotherProcess(dataDir)
      yield* remember(url)

      // As a terminal does it: to every process of the group.
      process.kill(-(child.pid ?? Number.NaN), "SIGINT")
      yield* ended(child)

      expect(liveServer(clusterIn(dataDir))).toBeUndefined()
      expect(said).toEqual([])
      expect(yield* withServer({ dataDir }, (server) => recall(server.url))).toBe(42)
    })
  )

  it.scopedLive("kill -9 ends the server too, and the next start recovers at once", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const { child, url } = yield* anotherProcess(dataDir)
      yield* remember(url)

      child.kill("SIGKILL")
      const recalled = yield* withServer({ dataDir }, (server) => recall(server.url))

      expect(recalled).toBe(42)
      yield* until(() => liveServer(clusterIn(dataDir)) === undefined)
    })
  )

  it.scopedLive("a throwaway cluster is gone with its server", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder

      yield* withServer({ dataDir, throwaway: true }, (server) => query(server.url, "select 1"))

      expect(fs.existsSync(join(clusterIn(dataDir), "PG_VERSION"))).toBe(false)
    })
  )
})

describe("the programs", () => {
  /** The platform's package as npm leaves it when install scripts do not run: without the libraries' short names. */
  const unlinkedPackage = Effect.gen(function* () {
    const native = yield* locate(`${process.platform}-${process.arch}`)
    const home = join(yield* folder, "..")
    const copy = join(home, "package", "native")
    fs.cpSync(native, copy, {
      recursive: true,
      filter: (path) => !path.endsWith(".a") && !fs.lstatSync(path).isSymbolicLink()
    })
    const version = `0.0.0-${process.pid}`
    fs.writeFileSync(join(copy, "..", "package.json"), JSON.stringify({ version }))
    yield* Effect.addFinalizer(() =>
      Effect.sync(() =>
        fs.rmSync(`/var/tmp/posthorn-postgres-${version}-${process.getuid?.()}`, {
          recursive: true,
          force: true
        })
      )
    )
    return { home, native: copy }
  })

  it.scopedLive("run though the package's install script did not", () =>
    Effect.gen(function* () {
      const { home, native } = yield* unlinkedPackage
      fs.chmodSync(home, 0o755)

      const binaries = yield* prepareBinaries(native, yield* accountFor(""))

      expect(binaries.version).toMatch(/^\d+\.\d+$/)
      expect(binaries.initdb.startsWith(native)).toBe(true)
    })
  )

  it.scopedLive("run from a copy when root's package lies where nobody else may go", (context) =>
    Effect.gen(function* () {
      if (!isRoot) return context.skip()
      const { home, native } = yield* unlinkedPackage
      fs.chmodSync(home, 0o700)

      const binaries = yield* prepareBinaries(native, yield* accountFor(""))

      expect(binaries.version).toMatch(/^\d+\.\d+$/)
      expect(binaries.initdb.startsWith(native)).toBe(false)
    })
  )

  it.scopedLive("serve root's data where nobody else may go", (context) =>
    Effect.gen(function* () {
      if (!isRoot) return context.skip()
      const dataDir = yield* folder
      fs.chmodSync(join(dataDir, ".."), 0o700)

      yield* withServer({ dataDir }, (server) => remember(server.url))

      expect(yield* withServer({ dataDir }, (server) => recall(server.url))).toBe(42)
    })
  )
})
