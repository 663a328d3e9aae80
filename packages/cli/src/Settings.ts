/**
 * The environment, read once: how each variable of `Variables.ts` is checked, and what comes of it.
 *
 * All problems are reported at once, one line each, and none repeats a secret.
 * Source: decision §1.
 */
import {
  type AllowedTargets,
  nothingAllowed,
  parseAllowedTargets,
  productionProblems
} from "@posthorn/domain/AllowedTargets"
import { type Bucket, defaultQuotas, type Quota } from "@posthorn/domain/Bucket"
import type { Limits } from "@posthorn/domain/Limits"
import type { Logo } from "@posthorn/server/console/ConsoleConfig"
import { Config, type ConfigError, Data, Duration, Effect, Either, Option, Redacted } from "effect"
import { type ConsoleLook, consoleAccent, consoleLogo, consoleName } from "./ConsoleSettings.ts"
import { databaseUrl } from "./DatabaseUrl.ts"
import { type StandardName, type VariableName, variables } from "./Variables.ts"

export interface Settings {
  readonly databaseUrl: Option.Option<Redacted.Redacted>
  readonly dataDir: string
  readonly host: string
  readonly port: number
  readonly portIsSet: boolean
  readonly baseUrl: Option.Option<string>
  readonly operatorToken: Option.Option<Redacted.Redacted>
  readonly encryptionKeys: Option.Option<ReadonlyArray<Redacted.Redacted<Uint8Array>>>
  /** None when neither variable is set: `dev` then has its own value. */
  readonly allowedTargets: Option.Option<AllowedTargets>
  readonly retryDelay: Duration.Duration
  readonly requestTimeout: Duration.Duration
  readonly bodyTimeout: Duration.Duration
  /** How long deliveries and events are kept. */
  readonly history: Duration.Duration
  readonly batchSize: number
  readonly maxConcurrency: number
  readonly endpointConcurrency: number
  readonly limits: Limits
  readonly quotas: Readonly<Record<Bucket, Quota | null>>
  readonly consoleLook: ConsoleLook
  readonly redisUrl: Option.Option<Redacted.Redacted>
  /** Where a collector of OpenTelemetry listens. */
  readonly otlpEndpoint: Option.Option<string>
  readonly otlpHeaders: Readonly<Record<string, Redacted.Redacted>>
  readonly otlpServiceName: string
  /** Where `work` shows its meters; none: nowhere. */
  readonly metricsPort: Option.Option<number>
  readonly logLevel: string
  readonly logFormat: "json" | "pretty"
}

/** What is wrong with the environment, one line per variable. */
export class InvalidEnvironment extends Data.TaggedError("InvalidEnvironment")<{
  readonly lines: ReadonlyArray<string>
}> {
  override get message() {
    return this.lines.join("\n")
  }
}

type Parse<A> = (text: string) => Either.Either<A, string>

/** The names of all variables, and of those that only `mcp` and the remote commands read. */
export const knownVariables: ReadonlyArray<string> = [
  "POSTHORN_URL",
  "POSTHORN_TOKEN",
  "POSTHORN_WORKSPACE",
  ...Object.keys(variables)
]

/** What is set, judged; the problem names the variable, says what is wrong, and shows an example. */
const judged = <A>(name: VariableName, raw: string, parse: Parse<A>): Effect.Effect<A, string> =>
  Either.match(parse(raw), {
    onLeft: (problem) => Effect.fail(`${name} ${problem}, for example ${name}=${variables[name].example}`),
    onRight: (value) => Effect.succeed(value)
  })

/** A variable that may be left out. */
const variable = <A>(name: VariableName, parse: Parse<A>): Effect.Effect<Option.Option<A>, string> =>
  Config.option(Config.string(name)).pipe(
    Effect.mapError((error: ConfigError.ConfigError) => `${name}: ${String(error)}`),
    Effect.flatMap(
      Option.match({
        onNone: () => Effect.succeed(Option.none<A>()),
        onSome: (raw) => Effect.asSome(judged(name, raw, parse))
      })
    )
  )

const orElse = <A>(self: Effect.Effect<Option.Option<A>, string>, value: A) =>
  Effect.map(
    self,
    Option.getOrElse(() => value)
  )

/** A variable with a default. */
const standard = <A>(name: StandardName, parse: Parse<A>): Effect.Effect<A, string> =>
  Effect.flatMap(
    variable(name, parse),
    Option.match({ onNone: () => judged(name, variables[name].standard, parse), onSome: Effect.succeed })
  )

const text: Parse<string> = (raw) => (raw.trim() === "" ? Either.left("is empty") : Either.right(raw.trim()))

const integer =
  (min: number, max: number): Parse<number> =>
  (raw) =>
    /^\d{1,9}$/.test(raw.trim()) && Number(raw) >= min && Number(raw) <= max
      ? Either.right(Number(raw))
      : Either.left(`is "${raw}", but must be a whole number from ${min} to ${max}`)

const duration =
  (min: Duration.Duration, max: Duration.Duration): Parse<Duration.Duration> =>
  (raw) => {
    const parsed = Option.getOrUndefined(Duration.decodeUnknown(raw.trim()))
    return parsed !== undefined && Duration.between(parsed, { minimum: min, maximum: max })
      ? Either.right(parsed)
      : Either.left(
          `is "${raw}", but must be a duration from ${Duration.format(min)} to ${Duration.format(max)}`
        )
  }

const redisUrl: Parse<Redacted.Redacted> = (raw) => {
  const url = URL.canParse(raw) ? new URL(raw) : undefined
  return url !== undefined && /^rediss?:$/.test(url.protocol) && url.hostname !== ""
    ? Either.right(Redacted.make(raw))
    : Either.left("is not a Redis URL")
}

const webAddress: Parse<string> = (raw) => {
  const url = URL.canParse(raw) ? new URL(raw) : undefined
  return url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.search === "" &&
    url.hash === "" &&
    url.username === ""
    ? Either.right(url.href.replace(/\/+$/, ""))
    : Either.left(`is "${raw}", but must be an http or https address without query`)
}

const otlpHeaders: Parse<Readonly<Record<string, Redacted.Redacted>>> = (raw) => {
  const pairs = raw.split(",").map((pair) => /^\s*([\w-]+)\s*=(.*)$/.exec(pair))
  try {
    return Either.right(
      Object.fromEntries(
        pairs.map((pair) => [pair![1]!, Redacted.make(decodeURIComponent(pair![2]!.trim()))])
      )
    )
  } catch {
    return Either.left("must be name=value, separated by commas, values percent-encoded")
  }
}

const operatorToken: Parse<Redacted.Redacted> = (raw) =>
  /^[\x21-\x7e]{24,512}$/.test(raw)
    ? Either.right(Redacted.make(raw))
    : Either.left("must be 24 to 512 visible ASCII characters without spaces")

const encryptionKeys: Parse<ReadonlyArray<Redacted.Redacted<Uint8Array>>> = (raw) => {
  const keys = raw.split(",").map((key) => Buffer.from(key.trim(), "base64"))
  const spelled = raw.split(",").every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key.trim()))
  return spelled && keys.every((key) => key.length === 32)
    ? Either.right(keys.map((key) => Redacted.make(new Uint8Array(key))))
    : Either.left("must be base64 of 32 bytes (several separated by commas, newest first)")
}

const flag: Parse<boolean> = (raw) =>
  /^(true|false)$/.test(raw.trim())
    ? Either.right(raw.trim() === "true")
    : Either.left(`is "${raw}", but must be true or false`)

const oneOf =
  <A extends string>(...values: ReadonlyArray<A>): Parse<A> =>
  (raw) =>
    (values as ReadonlyArray<string>).includes(raw.trim())
      ? Either.right(raw.trim() as A)
      : Either.left(`is "${raw}", but must be one of ${values.join(", ")}`)

const quota: Parse<Quota | null> = (raw) => {
  if (raw.trim() === "off") return Either.right(null)
  const [limit, window] = raw.split("/")
  const seconds = Duration.toSeconds(
    Option.getOrElse(Duration.decodeUnknown(window?.trim()), () => Duration.zero)
  )
  return /^\d{1,9}$/.test(limit?.trim() ?? "") && Number(limit) > 0 && seconds >= 1 && seconds <= 86_400
    ? Either.right({ limit: Number(limit), windowSeconds: seconds })
    : Either.left(`is "${raw}", but must be calls/window or off`)
}

const buckets = Object.keys(defaultQuotas) as ReadonlyArray<Bucket>

const quotaVariables = buckets.map((bucket) =>
  Effect.map(
    standard(`RATE_LIMIT_${bucket.toUpperCase() as Uppercase<Bucket>}`, quota),
    (value) => [bucket, value] as const
  )
)

const quotas = Effect.validateAll(quotaVariables, (read) => read).pipe(
  Effect.map((pairs) => Object.fromEntries(pairs) as Record<Bucket, Quota | null>)
)

const targetVariables = {
  list: variable("DELIVERY_ALLOWED_TARGETS", (raw) =>
    Either.mapLeft(
      parseAllowedTargets(raw, false),
      (problem) => `has a bad entry: ${problem.replace(/\.$/, "")}`
    )
  ),
  allowHttp: variable("DELIVERY_ALLOW_HTTP", flag),
  nodeEnv: variable("NODE_ENV", Either.right)
}

/** Both variables together; in production what is too wide stops the start. */
const allowedTargets = Effect.gen(function* () {
  const { allowHttp, list, nodeEnv } = yield* Effect.all(targetVariables, { mode: "validate" }).pipe(
    Effect.mapError((problems) => Object.values(problems).flatMap(Option.toArray))
  )
  if (Option.isNone(list) && Option.isNone(allowHttp)) return Option.none<AllowedTargets>()
  const targets = {
    ...Option.getOrElse(list, () => nothingAllowed),
    allowHttp: Option.getOrElse(allowHttp, () => false)
  }
  const problems = Option.contains(nodeEnv, "production") ? productionProblems(targets) : []
  if (problems.length > 0) return yield* Effect.fail([`DELIVERY_ALLOWED_TARGETS: ${problems.join(" ")}`])
  return Option.some(targets)
})

const consoleLook = Effect.all(
  {
    name: standard("CONSOLE_NAME", consoleName),
    accent: orElse<string | null>(variable("CONSOLE_ACCENT", consoleAccent), null),
    logo: orElse<Logo | null>(variable("CONSOLE_LOGO", consoleLogo), null)
  },
  { mode: "validate" }
).pipe(Effect.mapError((problems) => Object.values(problems).flatMap(Option.toArray)))

const limits = Effect.all(
  {
    endpoints: standard("LIMIT_ENDPOINTS", integer(1, 1_000_000)),
    tokens: standard("LIMIT_TOKENS", integer(1, 1_000_000)),
    fanOut: standard("LIMIT_FAN_OUT", integer(1, 100_000_000))
  },
  { mode: "validate" }
).pipe(Effect.mapError((problems) => Object.values(problems).flatMap(Option.toArray)))

const millisecond = Duration.millis(1)

const parts = {
  databaseUrl: variable("DATABASE_URL", databaseUrl),
  dataDir: standard("DATA_DIR", text),
  host: standard("HOST", text),
  setPort: variable("PORT", integer(0, 65_535)),
  baseUrl: variable("BASE_URL", webAddress),
  operatorToken: variable("OPERATOR_TOKEN", operatorToken),
  encryptionKeys: variable("ENCRYPTION_KEY", encryptionKeys),
  allowedTargets,
  retryDelay: standard("DELIVERY_RETRY_DELAY", duration(millisecond, Duration.days(1))),
  requestTimeout: standard("DELIVERY_REQUEST_TIMEOUT", duration(millisecond, Duration.minutes(5))),
  bodyTimeout: standard("DELIVERY_BODY_TIMEOUT", duration(millisecond, Duration.minutes(1))),
  history: standard("HISTORY_RETENTION", duration(Duration.days(1), Duration.days(3_650))),
  batchSize: standard("WORKER_BATCH_SIZE", integer(1, 1000)),
  maxConcurrency: standard("WORKER_MAX_CONCURRENCY", integer(1, 100)),
  endpointConcurrency: standard("WORKER_ENDPOINT_CONCURRENCY", integer(1, 1000)),
  limits,
  quotas,
  consoleLook,
  redisUrl: variable("REDIS_URL", redisUrl),
  otlpEndpoint: variable("OTEL_EXPORTER_OTLP_ENDPOINT", webAddress),
  otlpHeaders: orElse(variable("OTEL_EXPORTER_OTLP_HEADERS", otlpHeaders), {}),
  otlpServiceName: standard("OTEL_SERVICE_NAME", text),
  metricsPort: variable("METRICS_PORT", integer(1, 65_535)),
  logLevel: standard("LOG_LEVEL", oneOf("debug", "info", "warning", "error", "none")),
  logFormat: orElse(variable("LOG_FORMAT", oneOf("json", "pretty")), process.stderr.isTTY ? "pretty" : "json")
}

/** Read everything, or say everything that is wrong. */
export const settings: Effect.Effect<Settings, InvalidEnvironment> = Effect.all(parts, {
  mode: "either"
}).pipe(
  Effect.flatMap((results) => {
    const lines = Object.values(results).flatMap((result) =>
      Either.isLeft(result as Either.Either<unknown, unknown>)
        ? ([(result as Either.Left<unknown, unknown>).left].flat() as Array<string>)
        : []
    )
    if (lines.length > 0) return Effect.fail(new InvalidEnvironment({ lines }))
    const { setPort, ...rest } = Object.fromEntries(
      Object.entries(results).map(([name, result]) => [
        name,
        Either.getOrThrow(result as Either.Either<unknown>)
      ])
    ) as unknown as Settings & { readonly setPort: Option.Option<number> }
    return Effect.succeed({
      ...rest,
      port: Option.getOrElse(setPort, () => Number(variables.PORT.standard)),
      portIsSet: Option.isSome(setPort)
    })
  })
)
