/**
 * The settings: how each variable of `Variables.ts` is validated and converted. Read once, with Effect's `Config`; all problems
 * are reported together (Environment.ts). Source: spec §10.
 */

import type { OperatorToken } from "@posthorn/capabilities/Operators"
import {
  type AllowedTargets,
  nothingAllowed,
  parseAllowedTargets,
  productionProblems
} from "@posthorn/domain/AllowedTargets"
import { type Bucket, defaultQuotas, type Quota } from "@posthorn/domain/Bucket"
import { type Network, parseNetwork } from "@posthorn/domain/IpAddress"
import { isSlug } from "@posthorn/domain/Slug"
import { parseProxy } from "@posthorn/egress/Proxy"
import type { Smtp } from "@posthorn/worker/alerts/AlertConfig"
import { Config, ConfigError, Duration, type Effect, Either, Option, Redacted } from "effect"
import { consoleAccent, consoleLogo, consoleName } from "./ConsoleSettings.ts"
import { databaseUrl } from "./DatabaseUrl.ts"
import { type InvalidEnvironment, type Parse, parsed, readEnvironment } from "./Environment.ts"
import { smtpFrom, smtpUrl } from "./SmtpSettings.ts"
import { exampleOf, type StandardName, type VariableName, variables } from "./Variables.ts"

/** An optional variable. */
const variable = <A>(name: VariableName, parse: Parse<A>): Config.Config<Option.Option<A>> =>
  Config.option(parsed(name, exampleOf(name), parse)(Config.string(name)))

/** A variable with a default. */
const standard = <A>(name: StandardName, parse: Parse<A>): Config.Config<A> =>
  Config.withDefault(Config.string(name), variables[name].standard).pipe(parsed(name, exampleOf(name), parse))

const orNull = <A>(config: Config.Config<Option.Option<A>>) => Config.map(config, Option.getOrNull)

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

const slug: Parse<string> = (raw) =>
  Either.filterOrLeft(text(raw), isSlug, (name) => `is "${name}", but must be the slug of a workspace`)

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

/** Posthorn's own address: its pages and its console are at the root of a host. */
const baseUrl: Parse<string> = (raw) =>
  Either.filterOrLeft(
    webAddress(raw),
    (url) => new URL(url).pathname === "/",
    (url) =>
      `has the path ${new URL(url).pathname}, but Posthorn answers at the root of a host: give it a name of its own`
  )

/** A name or an address; IPv6 also in brackets, as in a URL. */
const host: Parse<string> = (raw) => Either.map(text(raw), (name) => name.replace(/^\[(.*)\]$/, "$1"))

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

const OPERATOR = /^(?:([a-z0-9-]{1,32}):)?([\x21-\x7e]{24,512})$/
const hasTwice = (all: ReadonlyArray<string>) => new Set(all).size < all.length

const operatorTokens: Parse<ReadonlyArray<OperatorToken>> = (raw) => {
  const read = raw.split(",").map((one) => OPERATOR.exec(one.trim()))
  const found = read.flatMap((one) => (one === null ? [] : [{ name: one[1] ?? null, text: one[2]! }]))
  if (found.length < read.length)
    return Either.left(
      "must be 24 to 512 visible ASCII characters without spaces (several separated by commas, newest first, each token or name:token)"
    )
  if (hasTwice(found.map(({ text }) => text))) return Either.left("has the same token twice")
  if (hasTwice(found.flatMap(({ name }) => name ?? []))) return Either.left("has the same name twice")
  return Either.right(found.map(({ name, text }) => ({ name, token: Redacted.make(text) })))
}

const encryptionKeys: Parse<ReadonlyArray<Redacted.Redacted<Uint8Array>>> = (raw) => {
  const keys = raw.split(",").map((key) => Buffer.from(key.trim(), "base64"))
  const spelled = raw.split(",").every((key) => /^[A-Za-z0-9+/]{43}=$/.test(key.trim()))
  return spelled && keys.every((key) => key.length === 32)
    ? Either.right(keys.map((key) => Redacted.make(new Uint8Array(key))))
    : Either.left("must be base64 of 32 bytes (several separated by commas, newest first)")
}

const networks: Parse<ReadonlyArray<Network>> = (raw) => {
  const texts = raw.split(",").map((text) => text.trim())
  const read = texts.map(parseNetwork)
  const bad = texts.filter((_, index) => read[index] === undefined)
  return bad.length === 0
    ? Either.right(read.filter((network) => network !== undefined))
    : Either.left(`has "${bad[0]}", which is neither an address nor a network; ports and names are not taken`)
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

const orOff =
  <A>(parse: Parse<A>): Parse<A | null> =>
  (raw) =>
    raw.trim() === "off" ? Either.right(null) : Either.mapLeft(parse(raw), (problem) => `${problem}, or off`)

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

const quotas = Config.all(
  Object.fromEntries(
    buckets.map((bucket) => [
      bucket,
      standard(`RATE_LIMIT_${bucket.toUpperCase() as Uppercase<Bucket>}`, quota)
    ])
  ) as Record<Bucket, Config.Config<Quota | null>>
)

/** None if neither variable is set: then `dev` uses its own value. In production an entry that is too wide stops the start. */
const allowedTargets = Config.all({
  list: variable("DELIVERY_ALLOWED_TARGETS", (raw) =>
    Either.mapLeft(
      parseAllowedTargets(raw, false),
      (problem) => `has a bad entry: ${problem.replace(/\.$/, "")}`
    )
  ),
  allowHttp: variable("DELIVERY_ALLOW_HTTP", flag),
  nodeEnv: variable("NODE_ENV", Either.right)
}).pipe(
  Config.mapOrFail(({ allowHttp, list, nodeEnv }) => {
    if (Option.isNone(list) && Option.isNone(allowHttp)) return Either.right(Option.none<AllowedTargets>())
    const targets = {
      ...Option.getOrElse(list, () => nothingAllowed),
      allowHttp: Option.getOrElse(allowHttp, () => false)
    }
    const problems = Option.contains(nodeEnv, "production") ? productionProblems(targets) : []
    return problems.length === 0
      ? Either.right(Option.some(targets))
      : Either.left(ConfigError.InvalidData([], `DELIVERY_ALLOWED_TARGETS: ${problems.join(" ")}`))
  })
)

/** Null where no e-mail is sent. */
const smtp = Config.all({
  server: variable("SMTP_URL", smtpUrl),
  from: variable("SMTP_FROM", smtpFrom)
}).pipe(
  Config.mapOrFail(({ from, server }) =>
    Option.isSome(server) === Option.isSome(from)
      ? Either.right(
          Option.getOrNull(
            Option.zipWith(server, from, (found, sender): Smtp => ({ ...found, from: sender }))
          )
        )
      : Either.left(ConfigError.InvalidData([], "SMTP_URL and SMTP_FROM are set together, or neither is"))
  )
)

const millisecond = Duration.millis(1)

const all = Config.all({
  databaseUrl: variable("DATABASE_URL", databaseUrl),
  dataDir: standard("DATA_DIR", text),
  host: standard("HOST", host),
  port: standard("PORT", integer(0, 65_535)),
  baseUrl: variable("BASE_URL", baseUrl),
  operatorTokens: variable("OPERATOR_TOKEN", operatorTokens),
  encryptionKeys: variable("ENCRYPTION_KEY", encryptionKeys),
  allowedTargets,
  proxy: orNull(variable("DELIVERY_PROXY", parseProxy)),
  retryDelay: standard("DELIVERY_RETRY_DELAY", duration(millisecond, Duration.days(1))),
  requestTimeout: standard("DELIVERY_REQUEST_TIMEOUT", duration(millisecond, Duration.minutes(5))),
  mostTimeout: standard("DELIVERY_MOST_TIMEOUT", duration(Duration.seconds(1), Duration.minutes(1))),
  bodyTimeout: standard("DELIVERY_BODY_TIMEOUT", duration(millisecond, Duration.minutes(1))),
  history: standard("HISTORY_RETENTION", duration(Duration.days(1), Duration.days(3_650))),
  batchSize: standard("WORKER_BATCH_SIZE", integer(1, 1000)),
  maxConcurrency: standard("WORKER_MAX_CONCURRENCY", integer(1, 100)),
  endpointConcurrency: standard("WORKER_ENDPOINT_CONCURRENCY", integer(1, 1000)),
  connectionsPerAddress: standard("CONNECTIONS_PER_ADDRESS", integer(1, 4_096)),
  drainSeconds: standard("DRAIN_SECONDS", integer(0, 600)),
  trustedProxies: Config.map(
    variable("TRUSTED_PROXIES", networks),
    Option.getOrElse((): ReadonlyArray<Network> => [])
  ),
  limits: Config.all({
    endpoints: standard("LIMIT_ENDPOINTS", integer(1, 1_000_000)),
    tokens: standard("LIMIT_TOKENS", integer(1, 1_000_000)),
    fanOut: standard("LIMIT_FAN_OUT", integer(1, 100_000_000)),
    waiting: standard("LIMIT_WAITING", orOff(integer(1, 1_000_000_000))),
    bytes: standard("LIMIT_BYTES", orOff(integer(1, 1_000_000_000_000_000)))
  }),
  systemWorkspace: orNull(variable("SYSTEM_WORKSPACE", slug)),
  quotas,
  consoleLook: Config.all({
    name: standard("CONSOLE_NAME", consoleName),
    accent: orNull(variable("CONSOLE_ACCENT", consoleAccent)),
    logo: orNull(variable("CONSOLE_LOGO", consoleLogo))
  }),
  smtp,
  publicCatalogue: standard("PUBLIC_CATALOGUE", flag),
  redisUrl: variable("REDIS_URL", redisUrl),
  otlpEndpoint: variable("OTEL_EXPORTER_OTLP_ENDPOINT", webAddress),
  otlpHeaders: Config.map(
    variable("OTEL_EXPORTER_OTLP_HEADERS", otlpHeaders),
    Option.getOrElse((): Readonly<Record<string, Redacted.Redacted>> => ({}))
  ),
  otlpServiceName: standard("OTEL_SERVICE_NAME", text),
  metricsPort: variable("METRICS_PORT", integer(1, 65_535)),
  logLevel: standard("LOG_LEVEL", oneOf("debug", "info", "warning", "error", "none")),
  logFormat: Config.map(
    variable("LOG_FORMAT", oneOf("json", "pretty")),
    Option.getOrElse(() => (process.stderr.isTTY ? "pretty" : "json"))
  )
})

export type Settings = Config.Config.Success<typeof all>

export const settings: Effect.Effect<Settings, InvalidEnvironment> = readEnvironment(all)
