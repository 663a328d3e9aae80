/**
 * Reads environment variables with Effect's `Config`: it parses the text, and reports a problem in one line that names the
 * variable and shows an example. `Config` collects the problems of all variables. No line repeats a secret: parsers of secrets
 * never quote their text, and in URLs everything before the host is omitted.
 */
import { Config, ConfigError, Data, Effect, Either } from "effect"

/** The environment is invalid; one line for each variable. */
export class InvalidEnvironment extends Data.TaggedError("InvalidEnvironment")<{
  readonly lines: ReadonlyArray<string>
}> {
  override get message() {
    return this.lines.join("\n")
  }
}

/** Left is the problem, as the continuation of a line that begins with the variable's name. */
export type Parse<A> = (text: string) => Either.Either<A, string>

export const lineOf = (name: string, problem: string, example: string): string =>
  `${name} ${withoutPassword(problem)}, for example ${name}=${example}`

/** If a URL was put into a wrong variable by mistake, its password is still not shown. */
const withoutPassword = (problem: string): string => problem.replace(/\/\/.*@/gs, "//…@")

/** An env file of systemd or Docker keeps the quotes that a shell removes. */
const QUOTED = /^\s*(["']).*\1\s*$/s

export const parsed =
  <A>(name: string, example: string, parse: Parse<A>) =>
  (config: Config.Config<string>): Config.Config<A> =>
    Config.mapOrFail(config, (text) =>
      Either.mapLeft(
        QUOTED.test(text) ? Either.left("has quotes around its value: leave them out") : parse(text),
        (problem) => ConfigError.InvalidData([name], lineOf(name, problem, example))
      )
    )

/** A variable that must be set. */
export const required = <A>(name: string, example: string, parse: Parse<A>): Config.Config<A> =>
  Config.withDefault(Config.string(name), "").pipe(
    parsed(name, example, (text) => (text.trim() === "" ? Either.left("is not set") : parse(text.trim())))
  )

const linesOf = (error: ConfigError.ConfigError): ReadonlyArray<string> =>
  error._op === "And" || error._op === "Or"
    ? [...linesOf(error.left), ...linesOf(error.right)]
    : [error.message]

/** Reads all settings, or reports all problems. */
export const readEnvironment = <A>(config: Config.Config<A>): Effect.Effect<A, InvalidEnvironment> =>
  Effect.mapError(config, (error) => new InvalidEnvironment({ lines: linesOf(error) }))
