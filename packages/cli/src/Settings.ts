/**
 * The environment, read once: every variable with its default, its check, and an example for whoever got it wrong.
 *
 * All problems are reported at once, one line each, and none repeats a secret. `docs/operate.md` lists the same table.
 * Source: decision §1.
 */
import {
  type AllowedTargets,
  nothingAllowed,
  parseAllowedTargets,
  productionProblems
} from "@posthorn/domain/AllowedTargets"
import { type Bucket, defaultQuotas, type Quota } from "@posthorn/domain/Bucket"
import { defaultLimits, type Limits } from "@posthorn/domain/Limits"
import type { Logo } from "@posthorn/server/console/ConsoleConfig"
import { Config, type ConfigError, Data, Duration, Effect, Either, Option, Redacted } from "effect"
import { type ConsoleLook, consoleAccent, consoleLogo, consoleName } from "./ConsoleSettings.ts"
import { databaseUrl } from "./DatabaseUrl.ts"

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
  readonly batchSize: number
  readonly maxConcurrency: number
  readonly endpointConcurrency: number
  readonly limits: Limits
  readonly quotas: Readonly<Record<Bucket, Quota | null>>
  readonly consoleLook: ConsoleLook
  readonly redisUrl: Option.Option<Redacted.Redacted>
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

/** The names of all variables below, and of those that only `mcp` reads. */
const known: Array<string> = ["POSTHORN_URL", "POSTHORN_TOKEN"]
export const knownVariables: ReadonlyArray<string> = known

/** An optional variable; the problem names it, says what is wrong, and shows an example. */
const variable = <A>(
  name: string,
  example: string,
  parse: Parse<A>
): Effect.Effect<Option.Option<A>, string> => {
  known.push(name)
  return Config.option(Config.string(name)).pipe(
    Effect.mapError((error: ConfigError.ConfigError) => `${name}: ${String(error)}`),
    Effect.flatMap(
      Option.match({
        onNone: () => Effect.succeed(Option.none<A>()),
        onSome: (text) =>
          Either.match(parse(text), {
            onLeft: (problem) => Effect.fail(`${name} ${problem}, for example ${name}=${example}`),
            onRight: (value) => Effect.succeed(Option.some(value))
          })
      })
    )
  )
}

const withDefault = <A>(self: Effect.Effect<Option.Option<A>, string>, value: A) =>
  Effect.map(
    self,
    Option.getOrElse(() => value)
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

const baseUrl: Parse<string> = (raw) => {
  const url = URL.canParse(raw) ? new URL(raw) : undefined
  return url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.search === "" &&
    url.hash === "" &&
    url.username === ""
    ? Either.right(url.href.replace(/\/+$/, ""))
    : Either.left(`is "${raw}", but must be an http or https address without query`)
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
    withDefault(
      variable(`RATE_LIMIT_${bucket.toUpperCase()}`, "'600/60 seconds'", quota),
      defaultQuotas[bucket]
    ),
    (value) => [bucket, value] as const
  )
)

const quotas = Effect.validateAll(quotaVariables, (read) => read).pipe(
  Effect.map((pairs) => Object.fromEntries(pairs) as Record<Bucket, Quota | null>)
)

const targetVariables = {
  list: variable("DELIVERY_ALLOWED_TARGETS", "10.1.2.0/24", (raw) =>
    Either.mapLeft(
      parseAllowedTargets(raw, false),
      (problem) => `has a bad entry: ${problem.replace(/\.$/, "")}`
    )
  ),
  allowHttp: variable("DELIVERY_ALLOW_HTTP", "false", flag),
  nodeEnv: variable("NODE_ENV", "production", Either.right)
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
    name: withDefault(variable("CONSOLE_NAME", "'Acme webhooks'", consoleName), "Posthorn"),
    accent: withDefault<string | null>(variable("CONSOLE_ACCENT", "'#2563eb'", consoleAccent), null),
    logo: withDefault<Logo | null>(variable("CONSOLE_LOGO", "/etc/posthorn/logo.svg", consoleLogo), null)
  },
  { mode: "validate" }
).pipe(Effect.mapError((problems) => Object.values(problems).flatMap(Option.toArray)))

const limits = Effect.all(
  {
    endpoints: withDefault(
      variable("LIMIT_ENDPOINTS", "500", integer(1, 1_000_000)),
      defaultLimits.endpoints
    ),
    tokens: withDefault(variable("LIMIT_TOKENS", "1000", integer(1, 1_000_000)), defaultLimits.tokens),
    fanOut: withDefault(variable("LIMIT_FAN_OUT", "20000", integer(1, 100_000_000)), defaultLimits.fanOut)
  },
  { mode: "validate" }
).pipe(Effect.mapError((problems) => Object.values(problems).flatMap(Option.toArray)))

const second = Duration.seconds(1)

const parts = {
  databaseUrl: variable(
    "DATABASE_URL",
    "postgresql://user:password@db.example.com:5432/posthorn",
    databaseUrl
  ),
  dataDir: withDefault(variable("DATA_DIR", ".data", text), ".data"),
  host: withDefault(variable("HOST", "127.0.0.1", text), "127.0.0.1"),
  setPort: variable("PORT", "8484", integer(0, 65_535)),
  baseUrl: variable("BASE_URL", "https://hooks.example.com", baseUrl),
  operatorToken: variable("OPERATOR_TOKEN", "$(openssl rand -hex 32)", operatorToken),
  encryptionKeys: variable("ENCRYPTION_KEY", "$(openssl rand -base64 32)", encryptionKeys),
  allowedTargets,
  retryDelay: withDefault(
    variable("DELIVERY_RETRY_DELAY", "'30 seconds'", duration(Duration.millis(1), Duration.days(1))),
    Duration.seconds(30)
  ),
  requestTimeout: withDefault(
    variable("DELIVERY_REQUEST_TIMEOUT", "'10 seconds'", duration(Duration.millis(1), Duration.minutes(5))),
    Duration.seconds(10)
  ),
  bodyTimeout: withDefault(
    variable("DELIVERY_BODY_TIMEOUT", "'2 seconds'", duration(Duration.millis(1), Duration.minutes(1))),
    Duration.times(second, 2)
  ),
  batchSize: withDefault(variable("WORKER_BATCH_SIZE", "25", integer(1, 1000)), 25),
  maxConcurrency: withDefault(variable("WORKER_MAX_CONCURRENCY", "4", integer(1, 100)), 4),
  endpointConcurrency: withDefault(variable("WORKER_ENDPOINT_CONCURRENCY", "10", integer(1, 1000)), 10),
  limits,
  quotas,
  consoleLook,
  redisUrl: variable("REDIS_URL", "redis://:password@redis.example.com:6379", redisUrl),
  logLevel: withDefault(
    variable("LOG_LEVEL", "info", oneOf("debug", "info", "warning", "error", "none")),
    "info"
  ),
  logFormat: withDefault(
    variable("LOG_FORMAT", "json", oneOf("json", "pretty")),
    (process.stderr.isTTY ? "pretty" : "json") as "json" | "pretty"
  )
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
      port: Option.getOrElse(setPort, () => 8484),
      portIsSet: Option.isSome(setPort)
    })
  })
)
