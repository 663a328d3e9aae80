/**
 * How a variable of the environment is read with Effect's `Config`: its text is parsed, and what is wrong is told in one line
 * that names the variable and shows an example. `Config` gathers the problems of all variables. No line repeats a secret:
 * no parser of a secret puts its text into the problem, and of a URL what stands before its host is left out.
 */
import { Config, ConfigError, Data, Effect, Either } from "effect"

/** What is wrong with the environment, one line for each variable. */
export class InvalidEnvironment extends Data.TaggedError("InvalidEnvironment")<{
  readonly lines: ReadonlyArray<string>
}> {
  override get message() {
    return this.lines.join("\n")
  }
}

/** On the left what is wrong, as the line goes on after the variable's name. */
export type Parse<A> = (text: string) => Either.Either<A, string>

export const lineOf = (name: string, problem: string, example: string): string =>
  `${name} ${withoutPassword(problem)}, for example ${name}=${example}`

/** Whatever variable a URL was written into by mistake, its password is not told. */
const withoutPassword = (problem: string): string => problem.replace(/\/\/.*@/gs, "//…@")

export const parsed =
  <A>(name: string, example: string, parse: Parse<A>) =>
  (config: Config.Config<string>): Config.Config<A> =>
    Config.mapOrFail(config, (text) =>
      Either.mapLeft(parse(text), (problem) =>
        ConfigError.InvalidData([name], lineOf(name, problem, example))
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

/** Reads all of it, or says all that is wrong. */
export const readEnvironment = <A>(config: Config.Config<A>): Effect.Effect<A, InvalidEnvironment> =>
  Effect.mapError(config, (error) => new InvalidEnvironment({ lines: linesOf(error) }))
