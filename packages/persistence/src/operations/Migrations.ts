/**
 * The migrations that this program knows, read from `migrations/`: plain SQL, each with instructions for the migrator in its
 * first comment.
 *
 *   -- Runs beside: 0007         Programs whose newest migration is 7 or later may run while this one is applied, and
 *                                afterwards. Without this line no older program may.
 *   -- Outside a transaction     For `create index concurrently`: runs statement by statement; each statement ends with
 *                                a semicolon at the end of a line. The file must be repeatable from the start.
 *
 * Whether these lines are true is not checked here but by `scripts/ci/migrations.ts` and `npm run attack -- upgrade`.
 */
import { createHash } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"

const folder = new URL("../../migrations/", import.meta.url)

export interface Migration {
  readonly version: number
  readonly name: string
  readonly sql: string
  readonly fingerprint: string
  /** The newest migration of the oldest program that may run beside it; null: only programs that know it may. */
  readonly runsBeside: number | null
  /** The whole file in one transaction, or single statements without one. */
  readonly steps: ReadonlyArray<string>
  readonly isTransaction: boolean
}

const FILE_NAME = /^(\d{4})_([a-z_]+)\.sql$/

const headOf = (sql: string) => /^(?:--.*\n)*/.exec(sql)![0]

const statementsOf = (sql: string) =>
  sql
    .split(/;[ \t]*(?:\n|$)/)
    .map((statement) => statement.replace(/^(?:\s*--.*(?:\n|$))+/, "").trim())
    .filter((statement) => statement !== "")

/** Null when the file is not a migration. */
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

export const migrations: ReadonlyArray<Migration> = readdirSync(folder)
  .sort()
  .flatMap((file) => migrationOf(file, readFileSync(new URL(file, folder), "utf8")) ?? [])
