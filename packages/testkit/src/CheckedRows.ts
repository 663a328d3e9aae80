/**
 * Loaded before each test file: decodes every row that is read in this process by the schema of its statement
 * (`persistence/src/Rows.ts`). A column that is missing or too many, another type, a null that was not declared: the statement fails, and
 * so does the test that runs, even where somebody catches what fails. Not in processes that a test starts: these run what ships.
 */
import { checkRows } from "@posthorn/persistence/Rows"
import { Either, ParseResult, Schema } from "effect"
import { afterAll, afterEach } from "vitest"

const STATEMENT_SHOWN = 300

const misfits: Array<Error> = []

/** Takes what did not fit away, so that the test does not fail by it. */
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
