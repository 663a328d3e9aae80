/** Helpers for tests of the embedded PostgreSQL: folders, queries, and another Posthorn to stop or kill. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as fs from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable } from "node:stream"
import { fileURLToPath } from "node:url"
import { Effect, Redacted } from "effect"
import pg from "pg"
import * as EmbeddedPostgres from "../src/EmbeddedPostgres.ts"

export const isRoot = process.getuid?.() === 0

/** A folder as in a clone, removed afterwards. */
export const folder = Effect.acquireRelease(
  Effect.sync(() => join(fs.mkdtempSync(join(tmpdir(), "posthorn-embedded-")), ".data")),
  (dataDir) => Effect.sync(() => fs.rmSync(join(dataDir, ".."), { recursive: true, force: true }))
)

export const clusterIn = (dataDir: string) => join(dataDir, "postgres")

export const query = (url: Redacted.Redacted | string, text: string) =>
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

export const remember = (url: Redacted.Redacted | string) =>
  query(url, "create table kept as select 42 as answer")

export const recall = (url: Redacted.Redacted | string) =>
  query(url, "select answer from kept").pipe(Effect.map((rows) => rows[0]?.answer))

/** Starts in a scope of its own, so that the server is stopped when `use` has ended. */
export const withServer = <A, E>(
  options: EmbeddedPostgres.Options,
  use: (server: EmbeddedPostgres.Running) => Effect.Effect<A, E>
) => Effect.scoped(Effect.flatMap(EmbeddedPostgres.start(options), use))

export const refusal = (options: EmbeddedPostgres.Options) =>
  Effect.scoped(Effect.flip(EmbeddedPostgres.start(options)))

export const listening = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly close: () => void }>((resume) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number }
      resume(Effect.succeed({ port, close: () => server.close() }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

export interface Held {
  readonly child: ChildProcess
  readonly url: string
  readonly said: ReadonlyArray<string>
}

/** Another Posthorn, in a process group of its own, as a shell starts one. */
export const anotherProcess = (dataDir: string) =>
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

export const ended = (child: ChildProcess) =>
  Effect.promise(async () =>
    child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined
  )
