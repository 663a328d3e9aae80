/**
 * Loaded before each test file: decodes every row that this process reads by the schema of its statement
 * (`persistence/src/client/Rows.ts`). If a column is missing, superfluous, of another type, or unexpectedly null, the statement
 * fails. The running test fails too, even if that error is caught.
 *
 * Processes that a test starts do not do this: they run the product unchanged.
 */
import { checkRows } from "@posthorn/persistence/client/Rows"
import { Either, ParseResult, Schema } from "effect"
import { afterAll, afterEach } from "vitest"

const STATEMENT_SHOWN = 300

const misfits: Array<Error> = []

/** The mismatches since the last call; they no longer fail the test. */
export const takeMisfits = (): ReadonlyArray<string> => misfits.splice(0).map(({ message }) => message)

checkRows((found, row, statement) => {
  const decoded = Schema.decodeUnknownEither(Schema.Array(row))(found, {
    errors: "all",
    onExcessProperty: "error"
  })
  if (Either.isRight(decoded)) return
  const issues = ParseResult.ArrayFormatter.formatErrorSync(decoded.left).map(
    ({ message, path: [place, ...path] }) => `  row ${String(place)}, ${path.join(".")}: ${message}`
  )
  const text = statement.replace(/\s+/g, " ").trim().slice(0, STATEMENT_SHOWN)
  const misfit = new Error(`Rows are not what is declared of\n  ${text}\n${issues.join("\n")}`)
  misfits.push(misfit)
  throw misfit
})

const fail = () => {
  const [first] = takeMisfits()
  if (first !== undefined) throw new Error(first)
}
afterEach(fail)
afterAll(fail)
