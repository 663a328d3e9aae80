/**
 * The migrations that this program knows, read from `migrations/`: plain SQL, with what the migrator has to know of each in
 * the comment that it begins with.
 *
 *   -- Runs beside: 0007         Programs whose newest migration is 7 or a later one go on while this one is applied, and
 *                                afterwards. Without the line no older program may.
 *   -- Outside a transaction     For `create index concurrently`: statement by statement, each ending its line with a
 *                                semicolon. It must bear being run again from the start.
 *
 * Nothing here judges whether that is true: `npm run migrations` and `npm run upgrade` do.
 */
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"

const folder = new URL("../../migrations/", import.meta.url)

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  /** SHA-256 of `sql`, in hex. */
  readonly fingerprint: string
  /** The newest migration of the oldest program that may run beside it; null: none may that does not know it. */
  readonly runsBeside: number | null
  /** What is run, one after the other: the whole text in a transaction, or one statement each and no transaction. */
  readonly steps: ReadonlyArray<string>
  readonly isTransaction: boolean
}

const FILE_NAME = /^(\d{4})_([a-z_]+)\.sql$/

/** The comment that a migration begins with. */
const headOf = (sql: string) => /^(?:--.*\n)*/.exec(sql)![0]

/** Statements that end with a semicolon at the end of a line. */
const statementsOf = (sql: string) =>
  sql
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.replace(/^(?:\s*--.*(?:\n|$))+/, "").trim())
    .filter((statement) => statement !== "")

/** Null when the file is no migration. */
export const migrationOf = (file: string, sql: string): Migration | null => {
  const [, version, name] = FILE_NAME.exec(file) ?? []
  if (version === undefined || name === undefined) return null
  const head = headOf(sql)
  const beside = /^-- Runs beside: (\d{4})$/m.exec(head)?.[1]
  const isTransaction = !/^-- Outside a transaction$/m.test(head)
  return {
    version: Number(version),
    name,
    sql,
    fingerprint: createHash("sha256").update(sql).digest("hex"),
    runsBeside: beside === undefined ? null : Number(beside),
    steps: isTransaction ? [sql] : statementsOf(sql),
    isTransaction
  }
}

/** In order. */
export const migrations: ReadonlyArray<Migration> = readdirSync(folder)
  .sort()
  .flatMap((file) => migrationOf(file, readFileSync(new URL(file, folder), "utf8")) ?? [])
