/**
 * Every environment variable: what it is for, its default, an example, and whether it is a secret. `Settings.ts` says how each
 * is read; `posthorn config`, `.env.example` and error messages are made from these texts.
 */
import { type Bucket, defaultQuotas } from "@posthorn/domain/Bucket"
import { CONNECTIONS_PER_ADDRESS, defaultLimits } from "@posthorn/domain/Limits"
import { defaults as worker } from "@posthorn/worker/WorkerConfig"

export interface Variable {
  readonly about: string
  /** The default, as one would write it. */
  readonly standard?: string
  /** An example for a shell; the default if there is none. */
  readonly example?: string
  /** `url`: the password within the URL is secret. */
  readonly isSecret?: true | "url"
}

const quota = (bucket: Bucket, about: string): Variable & { readonly standard: string } => {
  const { limit, windowSeconds } = defaultQuotas[bucket]
  const standard = `${limit}/${windowSeconds} seconds`
  return { about: `${about}; calls/window, or off`, standard, example: "'600/60 seconds'" }
}

const seconds = (milliseconds: number) => `${milliseconds / 1_000} seconds`

export const variables = {
  DATABASE_URL: {
    about: "PostgreSQL 15 or newer; dev runs its own without it",
    example: "postgresql://user:password@db.example.com:5432/posthorn",
    isSecret: "url"
  },
  DATA_DIR: { about: "where dev keeps its database and secrets", standard: ".data" },
  HOST: {
    about: "where serve and dev listen; 0.0.0.0 for all",
    standard: "127.0.0.1"
  },
  PORT: { about: "where serve and dev listen; 0 takes a free one", standard: "8484" },
  BASE_URL: {
    about: "public address, used in links; from HOST and PORT without it",
    example: "https://hooks.example.com"
  },
  OPERATOR_TOKEN: {
    about:
      "the platform's own key, for serve; several by commas, newest first, each token or name:token; dev makes one",
    example: "$(openssl rand -hex 32)",
    isSecret: true
  },
  ENCRYPTION_KEY: {
    about:
      "seals signing secrets: base64 of 32 bytes, several separated by commas, newest first; dev makes one",
    example: "$(openssl rand -base64 32)",
    isSecret: true
  },
  DELIVERY_ALLOWED_TARGETS: {
    about: "networks and hosts that the rules for URLs do not apply to",
    example: "10.1.2.0/24"
  },
  DELIVERY_ALLOW_HTTP: {
    about: "lets http: through, for those targets only",
    example: "false"
  },
  DELIVERY_PROXY: {
    about: "the proxy through which all requests to receivers go, by CONNECT; it then resolves their names",
    example: "http://user:password@proxy.example.com:3128",
    isSecret: "url"
  },
  DELIVERY_RETRY_DELAY: {
    about: "the first wait before a retry; the second is twice as long, the sixth six times",
    standard: seconds(worker.retryDelayMs)
  },
  DELIVERY_REQUEST_TIMEOUT: {
    about: "from looking up a receiver's name to the head of its answer",
    standard: seconds(worker.requestTimeoutMs)
  },
  DELIVERY_MOST_TIMEOUT: {
    about: "the most that a delivery policy's timeoutSeconds gets",
    standard: "60 seconds"
  },
  DELIVERY_BODY_TIMEOUT: {
    about: "for the start of the answer's body",
    standard: seconds(worker.bodyTimeoutMs)
  },
  HISTORY_RETENTION: {
    about: "how long work keeps deliveries, their attempts and events",
    standard: "30 days"
  },
  WORKER_BATCH_SIZE: {
    about: "with WORKER_MAX_CONCURRENCY: their product is the most requests in flight in one worker",
    standard: String(worker.batchSize)
  },
  WORKER_MAX_CONCURRENCY: { about: "see WORKER_BATCH_SIZE", standard: String(worker.maxConcurrency) },
  WORKER_ENDPOINT_CONCURRENCY: {
    about: "most requests in flight to one endpoint",
    standard: String(worker.endpointConcurrency)
  },
  METRICS_PORT: { about: "where work answers /metrics and health checks, on HOST", example: "9464" },
  LIMIT_ENDPOINTS: {
    about: "most endpoints of a workspace",
    standard: String(defaultLimits.endpoints)
  },
  LIMIT_TOKENS: {
    about: "most open tokens of a workspace",
    standard: String(defaultLimits.tokens)
  },
  LIMIT_FAN_OUT: {
    about: "most deliveries that one call makes",
    standard: String(defaultLimits.fanOut)
  },
  LIMIT_WAITING: {
    about: "most deliveries of a workspace that wait, or off",
    standard: String(defaultLimits.waiting)
  },
  LIMIT_BYTES: { about: "most bytes of payloads that a workspace keeps, or off", standard: "off" },
  SYSTEM_WORKSPACE: {
    about: "slug of the workspace that gets operational events of all others",
    example: "platform"
  },
  CONNECTIONS_PER_ADDRESS: {
    about: "most connections of one address at one serve",
    standard: String(CONNECTIONS_PER_ADDRESS)
  },
  DRAIN_SECONDS: {
    about: "for so long serve goes on once it is told to stop, and says that it is not ready; 0 in dev",
    standard: "10"
  },
  TRUSTED_PROXIES: {
    about: "networks of proxies whose Forwarded and X-Forwarded-For say who calls serve",
    example: "10.0.0.0/8,fd00::/8"
  },
  RATE_LIMIT_REST_READ: quota("rest_read", "reading"),
  RATE_LIMIT_REST_WRITE: quota("rest_write", "changing"),
  RATE_LIMIT_EVENT_PUBLISH: quota("event_publish", "publishing"),
  RATE_LIMIT_ASSISTANT: quota("assistant", "diagnosis"),
  RATE_LIMIT_FILTER_TRY: quota("filter_try", "trying filters"),
  RATE_LIMIT_MCP: quota("mcp", "MCP requests"),
  RATE_LIMIT_AUTH_FAILURE: quota("auth_failure", "failed sign-ins of one address"),
  REDIS_URL: {
    about: "shares rate-limit counts among all serve processes",
    example: "redis://:password@redis.example.com:6379",
    isSecret: "url"
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    about: "a collector of OpenTelemetry: traces and meters, OTLP over HTTP",
    example: "http://collector.example.com:4318"
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    about: "sent along to the collector: name=value, separated by commas, values percent-encoded",
    example: "authorization=Bearer%20key",
    isSecret: true
  },
  OTEL_SERVICE_NAME: {
    about: "what the collector knows these processes by",
    standard: "posthorn"
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    about: "more that the collector is told of them",
    example: "deployment.environment=production"
  },
  SMTP_URL: {
    about: "the server that takes alerts by e-mail; smtps: for TLS from the start, smtp: for STARTTLS",
    example: "smtp://user:password@mail.example.com:587",
    isSecret: "url"
  },
  SMTP_FROM: { about: "who sends them", example: "'Acme webhooks <webhooks@example.com>'" },
  CONSOLE_NAME: {
    about: "name in the console's head, and in alerts",
    standard: "Posthorn",
    example: "'Acme webhooks'"
  },
  CONSOLE_ACCENT: {
    about: "colour of the buttons and links of the console and of alerts",
    example: "'#2563eb'"
  },
  CONSOLE_LOGO: { about: "an SVG or PNG file, shown before the name", example: "/etc/posthorn/logo.svg" },
  PUBLIC_CATALOGUE: {
    about: "shows /event-types.json, which describes all event types, to everybody",
    standard: "false"
  },
  LOG_LEVEL: { about: "debug, info, warning, error or none", standard: "info" },
  LOG_FORMAT: { about: "json or pretty; pretty on a terminal without it, else json", example: "json" },
  NODE_ENV: { about: "production refuses targets that lead back to this machine", example: "production" }
} as const satisfies Readonly<Record<string, Variable>>

export type VariableName = keyof typeof variables

/** As one would write it in a shell. */
export const shellWord = (value: string): string => (/[\s#]/.test(value) ? `'${value}'` : value)

export const exampleOf = (name: VariableName): string => {
  const { example, standard = "" }: Variable = variables[name]
  return example ?? shellWord(standard)
}

/** Variables of `mcp`, and of commands that call a running Posthorn. */
export const callerVariables = {
  POSTHORN_URL: "https://hooks.example.com",
  POSTHORN_TOKEN: "phk_…",
  POSTHORN_WORKSPACE: "acme"
} as const

export const knownVariables: ReadonlyArray<string> = [
  ...Object.keys(callerVariables),
  ...Object.keys(variables)
]

/** Variables with a default. */
export type StandardName = {
  [Name in VariableName]: (typeof variables)[Name] extends { readonly standard: string } ? Name : never
}[VariableName]
