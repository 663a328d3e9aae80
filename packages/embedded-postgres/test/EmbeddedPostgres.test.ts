import * as fs from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as EmbeddedPostgres from "../src/EmbeddedPostgres.ts"
import { locate } from "../src/internal/PostgresBinaries.ts"
import { liveServer } from "../src/internal/PostgresLock.ts"
import {
  clusterIn,
  folder,
  isRoot,
  listening,
  query,
  recall,
  refusal,
  remember,
  withServer
} from "./EmbeddedPostgresKit.ts"

describe("data", () => {
  it.scopedLive("§10 creates a database in the data folder and finds its data again", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder

      const first = yield* withServer({ dataDir }, (server) => Effect.as(remember(server.url), server))
      const [answer, second] = yield* withServer({ dataDir }, (server) =>
        Effect.zip(recall(server.url), Effect.succeed(server))
      )

      expect([first.created, second.created, answer]).toEqual([true, false, 42])
      expect(liveServer(clusterIn(dataDir))).toBeUndefined()
    })
  )

  it.scopedLive.each([
    [
      "the file with password and port is lost",
      (dataDir: string) => fs.rmSync(join(dataDir, "postgres.json"))
    ],
    [
      "a postmaster.pid names a process that is not this folder's server",
      (dataDir: string) =>
        fs.writeFileSync(
          join(clusterIn(dataDir), "postmaster.pid"),
          `${process.pid}\n${clusterIn(dataDir)}\n`
        )
    ]
  ] as const)("keeps the data when %s", ([, disturb]) =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      yield* withServer({ dataDir }, (server) => remember(server.url))
      disturb(dataDir)
      expect(yield* withServer({ dataDir }, (server) => recall(server.url))).toBe(42)
    })
  )

  it.scopedLive(
    "is durable, on 127.0.0.1 only, without a socket, behind a password that only the owner can read",
    () =>
      Effect.gen(function* () {
        const dataDir = yield* folder
        const names =
          "'fsync', 'full_page_writes', 'synchronous_commit', 'listen_addresses', 'unix_socket_directories'"
        const [rows, refused] = yield* withServer({ dataDir }, ({ port, url }) =>
          Effect.all([
            query(url, `select name, setting from pg_settings where name in (${names})`),
            Effect.flip(query(`postgresql://postgres:guess@127.0.0.1:${port}/postgres`, "select 1"))
          ])
        )

        expect(Object.fromEntries(rows.map(({ name, setting }) => [name, setting]))).toEqual({
          fsync: "on",
          full_page_writes: "on",
          synchronous_commit: "on",
          listen_addresses: "127.0.0.1",
          unix_socket_directories: ""
        })
        expect((refused.cause as { code?: string }).code).toBe("28P01")
        expect(fs.statSync(join(dataDir, "postgres.json")).mode & 0o777).toBe(0o600)
      })
  )

  it.scopedLive("listens on its previous port, and on another one when that is taken", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const file = join(dataDir, "postgres.json")
      const port = ({ port }: EmbeddedPostgres.Running) => Effect.succeed(port)
      const first = yield* withServer({ dataDir }, port)

      const again = yield* withServer({ dataDir }, port)
      const taken = yield* listening
      fs.writeFileSync(
        file,
        JSON.stringify({ ...JSON.parse(fs.readFileSync(file, "utf8")), port: taken.port })
      )
      const other = yield* withServer({ dataDir }, port)

      expect(again).toBe(first)
      expect(other).not.toBe(taken.port)
    })
  )
})

/** One reason, on one line. */
const expectRefusal = (
  { message, reason }: { readonly message: string; readonly reason: string },
  expected: string,
  says: string
) => {
  expect(reason).toBe(expected)
  expect(message).toContain(says)
  expect(message).not.toContain("\n")
}

describe("refusals, each in one line", () => {
  it.scopedLive("a required port is taken", () =>
    Effect.gen(function* () {
      const { port } = yield* listening
      expectRefusal(yield* refusal({ dataDir: yield* folder, port }), "PortTaken", `Port ${port} is taken`)
    })
  )

  it.scopedLive("the data folder cannot be written", () =>
    Effect.gen(function* () {
      const parent = join(yield* folder, "..")
      fs.chmodSync(parent, 0o555)
      const error = yield* refusal({ dataDir: isRoot ? "/proc/posthorn/.data" : join(parent, ".data") })
      fs.chmodSync(parent, 0o755)
      expectRefusal(error, "FolderUnwritable", ".data cannot be written (")
      expect(error.message).toContain("DATA_DIR")
    })
  )

  it.scopedLive("a file stands where the data folder should be", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      fs.writeFileSync(dataDir, "")
      expectRefusal(yield* refusal({ dataDir }), "FolderUnwritable", "a file stands where a folder should be")
    })
  )

  it.scopedLive("another running Posthorn uses the data folder, and is not disturbed", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const { url } = yield* EmbeddedPostgres.start({ dataDir })
      expectRefusal(yield* refusal({ dataDir }), "FolderInUse", `Another Posthorn (process ${process.pid})`)
      yield* query(url, "select 1")
    })
  )

  it.effect("there are no programs for the machine", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(locate("sunos-sparc"))
      expectRefusal(error, "UnsupportedPlatform", "No embedded PostgreSQL for this machine (sunos-sparc")
      expect(error.message).toContain("DATABASE_URL")
    })
  )
})
