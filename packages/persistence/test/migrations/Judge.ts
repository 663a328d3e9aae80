/**
 * Judges the migrations that were added since a release. Released ones must stay unchanged, new ones must run beside the
 * programs of that release, and no statement may keep a big table locked (`Statements.ts`).
 *
 * A statement that is allowed nevertheless gives its reason in the comment before it: `-- Allowed: …`.
 */
import { type Migration, migrationOf } from "@posthorn/persistence/operations/Migrations"
import { type Node, parse } from "libpg-query"
import { judgeStatement, type Schema } from "./Statements.ts"

export interface File {
  readonly name: string
  readonly sql: string
}

interface Statement {
  readonly node: Node
  readonly line: number
  /** The comment before the statement. */
  readonly comment: string
}

/** A reason needs more than one word. */
const ALLOWED = /^\s*-- Allowed: .{10,}/m

const statementsOf = async (sql: string): Promise<ReadonlyArray<Statement>> => {
  // The parser counts bytes.
  const bytes = Buffer.from(sql)
  const { stmts: found = [] } = await parse(sql)
  return found.map(({ stmt, stmt_location: start = 0 }, n) => {
    const { stmt_len: length = 0, stmt_location: before = 0 } = n === 0 ? {} : found[n - 1]!
    return {
      node: stmt!,
      line: bytes.subarray(0, start).toString().split("\n").length,
      comment: bytes.subarray(before + length, start).toString()
    }
  })
}

const newSchema = (): Schema => ({ fresh: new Set(), neverNull: new Map() })

/** The schema after the released migrations; its tables are not new. */
const schemaAfter = async (released: ReadonlyArray<File>) => {
  const schema = newSchema()
  for (const { sql } of released)
    for (const { node } of await statementsOf(sql))
      judgeStatement(schema, node, { isTransaction: true, isAlone: true, mayRemove: true })
  schema.fresh.clear()
  return schema
}

const version = (number: number) => String(number).padStart(4, "0")

const headProblems = ({ runsBeside }: Migration, newestReleased: number): ReadonlyArray<string> => {
  if (runsBeside === null)
    return [
      `it does not say which programs go on beside it: begin with \`-- Runs beside: ${version(newestReleased)}\``
    ]
  return runsBeside > newestReleased
    ? [
        `programs of the last release know ${version(newestReleased)} and must be able to run beside it: make the change in two releases`
      ]
    : []
}

const judgeFile = async (
  schema: Schema,
  { name, sql }: File,
  migration: Migration,
  newestReleased: number
) => {
  const statements = await statementsOf(sql)
  const problems = headProblems(migration, newestReleased).map((problem) => `${name}: ${problem}`)
  if (!migration.isTransaction && migration.steps.length !== statements.length)
    problems.push(
      `${name}: outside a transaction each statement ends its line with a semicolon, and no other line does`
    )
  const where = {
    isTransaction: migration.isTransaction,
    isAlone: statements.length === 1 || !migration.isTransaction,
    mayRemove: migration.runsBeside === newestReleased
  }
  for (const { comment, line, node } of statements) {
    const judgement = judgeStatement(schema, node, where)
    if (judgement !== null && !ALLOWED.test(comment)) problems.push(`${name}:${line}: ${judgement}`)
  }
  return problems
}

/** The faults, one line each. */
export const judge = async (
  released: ReadonlyArray<File>,
  now: ReadonlyArray<File>
): Promise<ReadonlyArray<string>> => {
  const problems: Array<string> = []
  for (const { name, sql } of released) {
    const found = now.find((file) => file.name === name)
    if (found?.sql !== sql)
      problems.push(
        `${name}: it is released, and must stay as it is: databases have it, and it is known by its text`
      )
  }
  const added = now.filter(({ name }) => !released.some((file) => file.name === name))
  const schema = await schemaAfter(released)
  for (const [n, file] of added.entries()) {
    const migration = migrationOf(file.name, file.sql)
    if (migration === null || migration.version !== released.length + n + 1) {
      problems.push(`${file.name}: its name must be ${version(released.length + n + 1)}_words.sql`)
      if (migration === null) continue
    }
    problems.push(...(await judgeFile(schema, file, migration!, released.length)))
  }
  return problems
}
