/**
 * Loaded before each test file: decodes every row that is read in this process by the schema of its statement
 * (`persistence/src/client/Rows.ts`). When a column is missing or too many, has another type or a null that is not declared, the
 * statement fails. The test that runs fails, too, even where somebody catches that.
 *
 * Not in processes that a test starts: they run what ships.
 */
import { checkRows } from "@posthorn/persistence/client/Rows"
import { Either, ParseResult, Schema } from "effect"
import { afterAll, afterEach } from "vitest"

const STATEMENT_SHOWN = 300

const misfits: Array<Error> = []

/** What did not fit since the last call; the test does not fail by it any more. */
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
