/**
 * Which statements a migration may contain while Posthorn runs on tables of any size. A statement is refused unless it is
 * known to be short, and harmless to programs of the last release. The output of PostgreSQL's own parser is compared with
 * lists here; nothing is guessed from the text.
 *
 * A table made since the last release is empty when it is migrated, so every statement on it is allowed.
 *
 * Not checked: how long others hold their locks (the migrator gives up and tries again), and what the programs of the last
 * release read (`npm run attack -- upgrade` runs them).
 */
import type {
  AlterTableCmd,
  AlterTableStmt,
  ColumnDef,
  Constraint,
  DropStmt,
  Node,
  RangeVar
} from "libpg-query"

/** The schema as earlier migrations left it. */
export interface Schema {
  /** Tables that no release has. */
  readonly fresh: Set<string>
  /** Constraints that a column is not null, by table and name. */
  readonly neverNull: Map<string, { readonly column: string; isValidated: boolean }>
}

/** How the migration is run, and its other statements. */
export interface Surroundings {
  readonly isTransaction: boolean
  readonly isAlone: boolean
  /** Programs older than the last release may not run beside it. */
  readonly mayRemove: boolean
}

/** The reason for refusing it, or null. */
export type Judgement = string | null

const tableOf = (relation: RangeVar | undefined) =>
  `${relation?.schemaname ?? "public"}.${relation?.relname ?? ""}`

const textOf = (node: Node | undefined) =>
  node !== undefined && "String" in node ? (node.String.sval ?? "") : ""

const REMOVAL =
  "programs of an older release than the last may still use it: begin the migration with `-- Runs beside:` and the last " +
  "release's newest migration"

const VOLATILE =
  "a default that is not a constant writes every row anew: add the column without, fill it later"

/**
 * Built-in types: their values need no check, so the table is not read. The parser leaves the schema out for some of them.
 */
const isPlainType = (column: ColumnDef) => {
  const names = (column.typeName?.names ?? []).map(textOf)
  return names.length === 1 || names[0] === "pg_catalog"
}

const isSerial = (column: ColumnDef) =>
  /^(small|big)?serial/.test(textOf((column.typeName?.names ?? []).at(-1)))

/** Evaluated once, when the column is added. */
const isConstant = (node: Node | undefined): boolean => {
  if (node === undefined) return false
  if ("A_Const" in node || "SQLValueFunction" in node) return true
  if ("TypeCast" in node) return isConstant(node.TypeCast.arg)
  if ("A_ArrayExpr" in node) return (node.A_ArrayExpr.elements ?? []).every(isConstant)
  return "FuncCall" in node && (node.FuncCall.funcname ?? []).map(textOf).join(".") === "now"
}

const constraintOf = (node: Node | undefined): Constraint | undefined =>
  node !== undefined && "Constraint" in node ? node.Constraint : undefined

const addColumn = (column: ColumnDef): Judgement => {
  if (isSerial(column)) return "a serial column writes every row anew"
  if (!isPlainType(column)) return "a type with rules of its own makes PostgreSQL check every row"
  const constraints = (column.constraints ?? []).map((node) => constraintOf(node)!)
  const standard = constraints.find(({ contype }) => contype === "CONSTR_DEFAULT")
  for (const { contype } of constraints) {
    if (contype === "CONSTR_NULL" || contype === "CONSTR_DEFAULT") continue
    if (contype === "CONSTR_NOTNULL") {
      if (standard === undefined) return "a column that is not null needs a constant default"
      continue
    }
    if (contype === "CONSTR_GENERATED" || contype === "CONSTR_IDENTITY")
      return "a generated column writes every row anew"
    return "a constraint of a new column is checked on every row: add it by itself, not valid"
  }
  return standard === undefined || isConstant(standard.raw_expr) ? null : VOLATILE
}

/** The column of `check (column is not null)`. */
const neverNullColumn = ({ contype, raw_expr: expression }: Constraint): string | undefined => {
  if (contype !== "CONSTR_CHECK" || expression === undefined || !("NullTest" in expression)) return undefined
  const { arg, nulltesttype } = expression.NullTest
  if (nulltesttype !== "IS_NOT_NULL" || arg === undefined || !("ColumnRef" in arg)) return undefined
  return textOf(arg.ColumnRef.fields?.[0])
}

const addConstraint = (constraint: Constraint): Judgement => {
  if (constraint.contype === "CONSTR_UNIQUE" && constraint.indexname !== undefined) return null
  if (constraint.contype === "CONSTR_UNIQUE" || constraint.contype === "CONSTR_PRIMARY")
    return "it builds an index while nobody can write: make a unique index concurrently, then `unique using index`"
  if (constraint.contype === "CONSTR_EXCLUSION") return "it builds an index while nobody can write"
  return constraint.skip_validation === true
    ? null
    : "it reads the whole table under its lock: add it `not valid`, and validate it in a migration of its own"
}

const noteConstraint = (schema: Schema, table: string, constraint: Constraint) => {
  const column = neverNullColumn(constraint)
  if (column !== undefined && constraint.conname !== undefined)
    schema.neverNull.set(`${table}.${constraint.conname}`, {
      column,
      isValidated: constraint.skip_validation !== true
    })
}

const isNeverNull = (schema: Schema, table: string, column: string) =>
  [...schema.neverNull].some(
    ([name, known]) => name.startsWith(`${table}.`) && known.column === column && known.isValidated
  )

/** Short operations that only change the table's description. */
const SHORT = new Set<AlterTableCmd["subtype"]>([
  "AT_ColumnDefault",
  "AT_DropNotNull",
  "AT_DropConstraint",
  "AT_SetStatistics",
  "AT_SetRelOptions",
  "AT_ResetRelOptions",
  "AT_SetCompression",
  "AT_EnableTrig",
  "AT_DisableTrig"
])

const alterCommand = (
  schema: Schema,
  table: string,
  command: AlterTableCmd,
  { isAlone, mayRemove }: Surroundings
): Judgement => {
  const { def, name = "", subtype } = command
  if (SHORT.has(subtype)) return null
  switch (subtype) {
    case "AT_AddColumn":
      return def !== undefined && "ColumnDef" in def ? addColumn(def.ColumnDef) : "it is not understood"
    case "AT_AddConstraint": {
      const constraint = constraintOf(def)!
      noteConstraint(schema, table, constraint)
      return addConstraint(constraint)
    }
    case "AT_ValidateConstraint": {
      const known = schema.neverNull.get(`${table}.${name}`)
      if (known !== undefined) known.isValidated = true
      return isAlone
        ? null
        : "it reads the whole table, under the locks of what stands beside it: give it a migration of its own"
    }
    case "AT_SetNotNull":
      return isNeverNull(schema, table, name)
        ? null
        : "it reads the whole table under its lock: first a constraint `check (… is not null) not valid`, then validate it"
    case "AT_DropColumn":
      return mayRemove ? null : REMOVAL
    case "AT_AlterColumnType":
      return "it writes every row anew, and programs of the last release expect the old type: add another column"
    default:
      return "it is not known to be short"
  }
}

const alterTable = (schema: Schema, statement: AlterTableStmt, surroundings: Surroundings): Judgement => {
  const table = tableOf(statement.relation)
  const judgements = (statement.cmds ?? []).map((node) =>
    "AlterTableCmd" in node
      ? alterCommand(schema, table, node.AlterTableCmd, surroundings)
      : "it is not understood"
  )
  if (schema.fresh.has(table)) return null
  return judgements.find((one) => one !== null) ?? null
}

const drop = ({ concurrent, missing_ok: bearsAbsence, removeType }: DropStmt, where: Surroundings) => {
  if (removeType !== "OBJECT_INDEX") return where.mayRemove ? null : REMOVAL
  if (concurrent !== true) return "nobody reads or writes meanwhile: drop it concurrently"
  return bearsAbsence === true ? null : "run again after an interruption it would fail: `if exists`"
}

/** Writing rows is allowed in tables that no release has, and for a few rows by value elsewhere. */
const writes = (schema: Schema, relation: RangeVar | undefined): Judgement =>
  schema.fresh.has(tableOf(relation))
    ? null
    : "it may write any number of rows in one transaction: let a daily run do it in passes"

/** Creates something new and leaves existing objects unchanged. */
const HARMLESS = new Set([
  "AlterDefaultPrivilegesStmt",
  "AlterEnumStmt",
  "CommentStmt",
  "CompositeTypeStmt",
  "CreateDomainStmt",
  "CreateEnumStmt",
  "CreateFunctionStmt",
  "CreateSeqStmt",
  "CreateStatsStmt",
  "CreateTrigStmt",
  "GrantStmt",
  "ViewStmt"
])

/** Allowed outside a transaction: repeatable, and blocking nobody. */
const isRepeatable = (node: Node) =>
  ("IndexStmt" in node && node.IndexStmt.concurrent === true) ||
  ("DropStmt" in node && node.DropStmt.removeType === "OBJECT_INDEX") ||
  ("AlterTableStmt" in node &&
    (node.AlterTableStmt.cmds ?? []).every(
      (one) => "AlterTableCmd" in one && one.AlterTableCmd.subtype === "AT_ValidateConstraint"
    ))

const isConcurrent = (node: Node) =>
  ("IndexStmt" in node && node.IndexStmt.concurrent === true) ||
  ("DropStmt" in node && node.DropStmt.concurrent === true)

/** Judges a statement, and notes its effect on the schema. */
export const judgeStatement = (schema: Schema, node: Node, where: Surroundings): Judgement => {
  if (!where.isTransaction && !isRepeatable(node))
    return "only indexes and validation stand outside a transaction"
  if (where.isTransaction && isConcurrent(node))
    return "concurrently works only in a migration that says `-- Outside a transaction`"
  if ("CreateStmt" in node) {
    schema.fresh.add(tableOf(node.CreateStmt.relation))
    return null
  }
  if ("IndexStmt" in node)
    return schema.fresh.has(tableOf(node.IndexStmt.relation)) || node.IndexStmt.concurrent === true
      ? null
      : "nobody writes to the table while it is built: create it concurrently, outside a transaction"
  if ("AlterTableStmt" in node) return alterTable(schema, node.AlterTableStmt, where)
  if ("DropStmt" in node) return drop(node.DropStmt, where)
  if ("RenameStmt" in node) return where.mayRemove ? null : REMOVAL
  if ("InsertStmt" in node) {
    const source = node.InsertStmt.selectStmt
    const isByValue =
      source !== undefined && "SelectStmt" in source && source.SelectStmt.valuesLists !== undefined
    return isByValue ? null : writes(schema, node.InsertStmt.relation)
  }
  if ("UpdateStmt" in node) return writes(schema, node.UpdateStmt.relation)
  if ("DeleteStmt" in node) return writes(schema, node.DeleteStmt.relation)
  return HARMLESS.has(Object.keys(node)[0] ?? "") ? null : "it is not known to be short"
}
