/**
 * The migrations of this program, read from `migrations/`: plain SQL. The comment at the beginning of each instructs the
 * migrator:
 *
 *   -- Runs beside: 0007         Programs whose newest migration is 7 or a later one go on while this one is applied, and
 *                                afterwards. Without the line no older program may.
 *   -- Outside a transaction     For `create index concurrently`: statement by statement, each ending its line with a
 *                                semicolon. It must bear being run again from the start.
 *
 * This file does not check whether these lines are true: `npm run migrations` and `npm run upgrade` do.
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
  /** The newest migration of the oldest program that may run beside it; null if only programs that know it may. */
  readonly runsBeside: number | null
  /** What is run in order: the whole text in one transaction, or single statements outside of one. */
  readonly steps: ReadonlyArray<string>
  readonly isTransaction: boolean
}

const FILE_NAME = /^(\d{4})_([a-z_]+)\.sql$/

/** The comment at the beginning of a migration. */
const headOf = (sql: string) => /^(?:--.*\n)*/.exec(sql)![0]

/** Splits at semicolons at the end of a line. */
const statementsOf = (sql: string) =>
  sql
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.replace(/^(?:\s*--.*(?:\n|$))+/, "").trim())
    .filter((statement) => statement !== "")

/** Null if the file is not a migration. */
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

/** Sorted by number. */
export const migrations: ReadonlyArray<Migration> = readdirSync(folder)
  .sort()
  .flatMap((file) => migrationOf(file, readFileSync(new URL(file, folder), "utf8")) ?? [])
