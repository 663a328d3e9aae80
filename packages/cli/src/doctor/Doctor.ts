/**
 * `posthorn doctor`: checks everything that this installation depends on, says what is wrong and what to do, and changes
 * nothing.
 *
 * It reads the environment that `serve` or `work` would get: run it where they run. It exits with 0 if all is well or worth a
 * note, with 1 if something keeps `serve` or `work` from its work, with 3 if there are warnings alone. Source: spec §10 (Doctor).
 */
import * as Database from "@posthorn/persistence/client/Database"
import * as DedicatedConnection from "@posthorn/persistence/client/DedicatedConnection"
import { Cause, Effect, Option } from "effect"
import { explain } from "../command/StartFailures.ts"
import { dim, green, red, say, sayToTheLetter, yellow } from "../command/Terminal.ts"
import { type Settings, settings } from "../settings/Settings.ts"
import { examine } from "./DatabaseChecks.ts"
import { type Finding, summaryOf, type Verdict, wrong } from "./Finding.ts"
import { neighbours, variables } from "./ServiceChecks.ts"

const MARKS = { well: green("✓"), note: dim("–"), warning: yellow("!"), wrong: red("✗") }

const show = ({ about, text, verdict }: Finding) => say(`  ${MARKS[verdict]} ${about.padEnd(14)} ${text}`)

const database = (given: Settings) =>
  Option.match(given.databaseUrl, {
    onNone: () => Effect.succeed([wrong("database", "no_database", "DATABASE_URL is not set.")]),
    onSome: (url) =>
      examine(given).pipe(
        Effect.provide(DedicatedConnection.layer),
        Effect.provide(Database.layer({ url, applicationName: "posthorn doctor", maxConnections: 2 })),
        Effect.catchAllCause((cause) =>
          Effect.map(explain(cause), (lines) => [
            wrong("database", "database_away", (lines ?? [Cause.pretty(cause)]).join(" "))
          ])
        )
      )
  })

/** Such as `PORT must be …`. */
const withoutValue = (line: string) => line.replace(/ is ".*", but must be /s, " must be ")

const findings = Effect.gen(function* () {
  const given = yield* Effect.either(settings)
  const examined =
    given._tag === "Left"
      ? given.left.lines.map((line) => wrong("settings", "invalid_setting", withoutValue(line)))
      : [...(yield* database(given.right)), ...(yield* neighbours(given.right))]
  return [...examined, ...(yield* variables)]
})

const counted = (all: ReadonlyArray<Finding>, wanted: Verdict, one: string, many: string) => {
  const count = all.filter(({ verdict }) => verdict === wanted).length
  return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`]
}

/** One JSON document for programs, else a line for each finding. */
export const doctor = (asJson: boolean) =>
  Effect.gen(function* () {
    const all = yield* findings
    const { exitCode, verdict } = summaryOf(all)
    if (asJson) yield* sayToTheLetter(JSON.stringify({ verdict, exitCode, findings: all }, null, 2))
    else {
      const said = [
        ...counted(all, "wrong", "thing to mend", "things to mend"),
        ...counted(all, "warning", "warning", "warnings")
      ]
      yield* say("")
      yield* Effect.forEach(all, show, { discard: true })
      yield* say(`\n  ${said.length === 0 ? "All is well" : said.join(", ")}.\n`)
    }
    yield* Effect.sync(() => (process.exitCode = exitCode))
  })
