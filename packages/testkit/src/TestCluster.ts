/**
 * One PostgreSQL for a run of tests: the server of TEST_DATABASE_URL, or an embedded one that ends with the scope, and with its
 * process even if the run is killed.
 *
 * It holds a migrated template database, from which `TestPg.ts` clones one for each test file in some 20 ms.
 */
import { randomBytes } from "node:crypto"
import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as EmbeddedPostgres from "@posthorn/embedded-postgres/EmbeddedPostgres"
import * as Database from "@posthorn/persistence/client/Database"
import { migrate } from "@posthorn/persistence/operations/Migrator"
import { Config, Effect, Option, Redacted } from "effect"
import pg from "pg"

export interface TestCluster {
  /** A superuser's URL of the server's own database. */
  readonly url: string
  readonly template: string
}

/** The same server, another database. */
export const withDatabase = (url: string, database: string) => {
  const other = new URL(url)
  other.pathname = `/${database}`
  return other.href
}

/** Runs statements one by one on a separate connection. A failure is a broken test set-up, so a defect. */
export const execute = (url: string, ...statements: ReadonlyArray<string>) =>
  Effect.promise(async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    try {
      for (const statement of statements) await client.query(statement)
    } finally {
      await client.end()
    }
  })

/** With force: open connections must not keep the database alive. */
export const dropDatabase = (url: string, database: string) =>
  execute(
    url,
    `alter database ${database} is_template false`,
    `drop database if exists ${database} with (force)`
  )

export const randomName = (prefix: string) => `${prefix}_${randomBytes(6).toString("hex")}`

/**
 * A killed run leaves a folder, which its server's guard has emptied. A folder older than a minute is not being filled either.
 */
const sweepLeftovers = () => {
  for (const name of readdirSync(tmpdir()).filter((name) => name.startsWith("posthorn-pg-"))) {
    const folder = join(tmpdir(), name)
    const stat = statSync(folder, { throwIfNoEntry: false })
    const mine = stat?.uid === process.getuid?.() && Date.now() - (stat?.mtimeMs ?? 0) > 60_000
    if (mine && !existsSync(join(folder, "postgres", "PG_VERSION")))
      rmSync(folder, { recursive: true, force: true })
  }
}

const temporaryFolder = Effect.acquireRelease(
  Effect.sync(() => {
    sweepLeftovers()
    const folder = mkdtempSync(join(tmpdir(), "posthorn-pg-"))
    chmodSync(folder, 0o755)
    return folder
  }),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

const embedded = temporaryFolder.pipe(
  Effect.flatMap((dataDir) => EmbeddedPostgres.start({ dataDir, throwaway: true })),
  Effect.map((server) => Redacted.value(server.url))
)

/** Creates the template and migrates it; afterwards nobody can connect to it, so it can always be cloned. */
const prepareTemplate = (url: string, template: string) =>
  Effect.gen(function* () {
    yield* execute(url, `create database ${template}`)
    const options = { applicationName: "posthorn-template", maxConnections: 2 }
    const database = Database.layer({ ...options, url: Redacted.make(withDatabase(url, template)) })
    yield* migrate.pipe(Effect.provide(database))
    yield* execute(url, `alter database ${template} is_template true allow_connections false`)
  })

export const start = Effect.gen(function* () {
  const given = yield* Config.option(Config.string("TEST_DATABASE_URL"))
  const url = Option.isSome(given) ? given.value : yield* embedded
  const template = randomName("posthorn_template")
  yield* Effect.addFinalizer(() => (Option.isSome(given) ? dropDatabase(url, template) : Effect.void))
  yield* prepareTemplate(url, template)
  return { url, template } satisfies TestCluster
})
