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
