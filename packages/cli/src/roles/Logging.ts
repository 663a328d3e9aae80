/**
 * Logs go to standard error: pretty on a terminal, JSON anywhere else, so that standard output stays the command's own.
 * The JSON is one flat object a line: FlatLogger.ts.
 */
import { Config, Effect, Layer, Logger, LogLevel, Option } from "effect"
import { flatLogger } from "./FlatLogger.ts"

const levels = {
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  none: LogLevel.None
} as const

const read = (name: string) =>
  Effect.orElseSucceed(Config.option(Config.string(name)), () => Option.none<string>())

const json = Logger.withConsoleError(flatLogger)
const pretty = Logger.prettyLogger({ stderr: true })

/** Whether the log is JSON. */
export const logsJson = (): boolean =>
  (process.env.LOG_FORMAT ?? (process.stderr.isTTY ? "pretty" : "json")) !== "pretty"

/** Invalid values fall back to a default here; `Settings` reports them. */
export const loggingLive = Layer.unwrapEffect(
  Effect.gen(function* () {
    const level = Option.getOrElse(yield* read("LOG_LEVEL"), () => "info")
    return Layer.merge(
      Logger.replace(Logger.defaultLogger, logsJson() ? json : pretty),
      Logger.minimumLogLevel(levels[level as keyof typeof levels] ?? LogLevel.Info)
    )
  })
)
