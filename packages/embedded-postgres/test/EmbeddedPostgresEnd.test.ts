import * as fs from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { until } from "@posthorn/testkit/Until"
import { Effect } from "effect"
import * as EmbeddedPostgres from "../src/EmbeddedPostgres.ts"
import { liveServer } from "../src/internal/PostgresLock.ts"
import {
  anotherProcess,
  clusterIn,
  ended,
  folder,
  query,
  recall,
  remember,
  withServer
} from "./EmbeddedPostgresKit.ts"

describe("the end", () => {
  it.scopedLive("reports that the server died while it is needed", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const running = yield* EmbeddedPostgres.start({ dataDir })

      process.kill(liveServer(clusterIn(dataDir)) ?? Number.NaN, "SIGKILL")
      const error = yield* Effect.flip(running.ended)

      expect(error.reason).toBe("Stopped")
    })
  )

  it.scopedLive("Ctrl-C ends server and Posthorn silently, and the data stays", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder
      const { child, said, url } = yield* anotherProcess(dataDir)
      yield* remember(url)

      // Like a terminal: to every process of the group.
      process.kill(-(child.pid ?? Number.NaN), "SIGINT")
      yield* ended(child)

      expect(liveServer(clusterIn(dataDir))).toBeUndefined()
      expect(said).toEqual([])
      expect(yield* withServer({ dataDir }, (server) => recall(server.url))).toBe(42)
    })
  )

  it.scopedLive.each([true, false])(
    "kill -9 ends the server too, and the data stays, waited for: %s",
    (isWaitedFor) =>
      Effect.gen(function* () {
        const dataDir = yield* folder
        const { child, url } = yield* anotherProcess(dataDir)
        yield* remember(url)

        child.kill("SIGKILL")
        // The next start need not wait for a server that is stopping.
        if (isWaitedFor)
          yield* until(
            Effect.sync(() => liveServer(clusterIn(dataDir))),
            (live) => live === undefined
          )

        expect(yield* withServer({ dataDir }, (server) => recall(server.url))).toBe(42)
      })
  )

  it.scopedLive("a throwaway cluster is removed with its server", () =>
    Effect.gen(function* () {
      const dataDir = yield* folder

      yield* withServer({ dataDir, throwaway: true }, (server) => query(server.url, "select 1"))

      expect(fs.existsSync(join(clusterIn(dataDir), "PG_VERSION"))).toBe(false)
    })
  )
})
