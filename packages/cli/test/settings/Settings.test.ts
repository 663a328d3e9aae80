import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Duration, Effect, Option, Redacted } from "effect"
import pg from "pg"
import { harmless } from "../../src/command/Terminal.ts"
import { settings } from "../../src/settings/Settings.ts"

const read = (environment: Readonly<Record<string, string>>) =>
  Effect.withConfigProvider(settings, ConfigProvider.fromMap(new Map(Object.entries(environment))))

const linesOf = (environment: Readonly<Record<string, string>>) =>
  Effect.map(Effect.flip(read(environment)), ({ lines }) => lines)

describe("Settings", () => {
  it.effect("§10 has a default for everything", () =>
    Effect.gen(function* () {
      const given = yield* read({})

      assert.strictEqual(given.port, 8484)
      assert.strictEqual(given.host, "127.0.0.1")
      assert.strictEqual(Duration.toMillis(given.retryDelay), 30_000)
      assert.deepStrictEqual([given.batchSize, given.maxConcurrency, given.endpointConcurrency], [25, 4, 10])
      assert.deepStrictEqual(given.quotas.event_publish, { limit: 60_000, windowSeconds: 60 })
      assert.deepStrictEqual(given.limits, {
        endpoints: 500,
        tokens: 1000,
        fanOut: 20_000,
        waiting: 1_000_000,
        bytes: null
      })
      assert.isTrue(Option.isNone(given.allowedTargets))
    })
  )

  it.effect("§10 reads quotas, durations, keys and targets", () =>
    Effect.gen(function* () {
      const given = yield* read({
        RATE_LIMIT_REST_READ: "5/10 seconds",
        RATE_LIMIT_MCP: "off",
        DELIVERY_RETRY_DELAY: "100 millis",
        ENCRYPTION_KEY: `${Buffer.alloc(32, 1).toString("base64")},${Buffer.alloc(32, 2).toString("base64")}`,
        DELIVERY_ALLOWED_TARGETS: ""
      })

      assert.deepStrictEqual(given.quotas.rest_read, { limit: 5, windowSeconds: 10 })
      assert.isNull(given.quotas.mcp)
      assert.strictEqual(Duration.toMillis(given.retryDelay), 100)
      assert.strictEqual(Option.getOrThrow(given.encryptionKeys).length, 2)
      assert.isTrue(Option.isSome(given.allowedTargets), "set to nothing is still set")
    })
  )

  it.effect("§3.6 reads the mail server, and refuses what would send a password openly by mistake", () =>
    Effect.gen(function* () {
      const SMTP_FROM = "Acme hooks <hooks@example.com>"
      const smtp = (SMTP_URL: string) => Effect.map(read({ SMTP_URL, SMTP_FROM }), (given) => given.smtp!)
      const refused = (environment: Readonly<Record<string, string>>) =>
        Effect.map(linesOf(environment), (lines) => lines.join("\n"))

      const whole = yield* smtp("smtp://me%40example.com:p%2Fw@mail.example.com")
      assert.deepInclude(whole, {
        host: "mail.example.com",
        port: 587,
        security: "starttls",
        from: { name: "Acme hooks", address: "hooks@example.com" }
      })
      assert.deepStrictEqual(
        [whole.login!.user, Redacted.value(whole.login!.password)],
        ["me@example.com", "p/w"]
      )
      assert.deepInclude(yield* smtp("smtps://[::1]"), {
        host: "::1",
        port: 465,
        security: "tls",
        login: null
      })
      assert.deepInclude(yield* smtp("smtp://relay:25?tls=off"), { port: 25, security: "none" })
      assert.isNull((yield* read({})).smtp)
      for (const bad of [
        "mail:587",
        "smtp://me@host",
        "smtp://me:pw@host?tls=no",
        "smtps://host?tls=off",
        "smtp://me:%zz@host",
        "smtp://host/x"
      ])
        assert.match(yield* refused({ SMTP_URL: bad, SMTP_FROM }), /^SMTP_URL is not smtp:/, bad)
      assert.notInclude(yield* refused({ SMTP_URL: "smtp://me:geheim@host/x", SMTP_FROM }), "geheim")
      assert.match(yield* refused({ SMTP_URL: "smtp://relay" }), /SMTP_URL and SMTP_FROM are set together/)
      for (const from of [
        "nobody",
        "A <a@example.com",
        "a@example.com>",
        "A\r\nBcc: b@x.example <a@example.com>"
      ])
        assert.match(yield* refused({ SMTP_URL: "smtp://relay", SMTP_FROM: from }), /SMTP_FROM/, from)
    })
  )

  it.effect("§10 lists every fault, a line each, with an example and no secret", () =>
    Effect.gen(function* () {
      const lines = yield* linesOf({
        PORT: "http",
        DELIVERY_RETRY_DELAY: "soon",
        ENCRYPTION_KEY: "c2VjcmV0",
        OPERATOR_TOKEN: "short-secret",
        DATABASE_URL: "mysql://root:hunter2@db/x",
        WORKER_BATCH_SIZE: "0",
        LIMIT_ENDPOINTS: "0",
        LIMIT_FAN_OUT: "lots",
        RATE_LIMIT_MCP: "many",
        DELIVERY_ALLOWED_TARGETS: "10.0.0.0/99",
        METRICS_PORT: "0",
        OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4317",
        CONSOLE_NAME: " ",
        CONSOLE_ACCENT: "blue",
        CONSOLE_LOGO: "/no/such/logo.svg"
      })

      const names = lines.map((line) => line.split(/[ :]/)[0])
      assert.sameMembers(names, [
        "PORT",
        "DELIVERY_RETRY_DELAY",
        "ENCRYPTION_KEY",
        "OPERATOR_TOKEN",
        "METRICS_PORT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "CONSOLE_NAME",
        "CONSOLE_ACCENT",
        "CONSOLE_LOGO",
        "DATABASE_URL",
        "WORKER_BATCH_SIZE",
        "LIMIT_ENDPOINTS",
        "LIMIT_FAN_OUT",
        "RATE_LIMIT_MCP",
        "DELIVERY_ALLOWED_TARGETS"
      ])
      assert.isTrue(lines.every((line) => !line.includes("\n")))
      for (const secret of ["hunter2", "short-secret", "c2VjcmV0"])
        assert.notInclude(lines.join("\n"), secret)
      assert.include(lines.join("\n"), "for example PORT=8484")
    })
  )

  it.effect("§10 repeats no password of a URL, whatever variable contains it", () =>
    Effect.gen(function* () {
      const url = "https://me:hunter/2@hooks.example.com/?x"
      const names = [
        "BASE_URL",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "PORT",
        "LOG_LEVEL",
        "LIMIT_TOKENS",
        "CONSOLE_ACCENT"
      ]
      const lines = yield* linesOf(Object.fromEntries(names.map((name) => [name, url])))

      assert.lengthOf(lines, names.length)
      assert.notInclude(lines.join(), "hunter")
    })
  )

  it.effect("§10 refuses quotes that a shell would have removed, and a path that it would not serve", () =>
    Effect.gen(function* () {
      const lines = yield* linesOf({
        OPERATOR_TOKEN: `"${"a".repeat(32)}"`,
        HOST: "'127.0.0.1'",
        BASE_URL: "https://example.com/hooks/"
      })
      assert.sameMembers(
        lines.map((line) => line.replace(/, for example.*/, "")),
        [
          "OPERATOR_TOKEN has quotes around its value: leave them out",
          "HOST has quotes around its value: leave them out",
          "BASE_URL has the path /hooks, but Posthorn answers at the root of a host: give it a name of its own"
        ]
      )
      assert.strictEqual((yield* read({ HOST: "[::]" })).host, "::")
    })
  )

  it.effect("§10 takes a socket's folder, and says how a password is spelled", () =>
    Effect.gen(function* () {
      const url = "postgresql://me:secret@/app?host=/var/run/postgresql"
      const { databaseUrl } = yield* read({ DATABASE_URL: url })
      const { database, host, user } = new pg.Client(Redacted.value(Option.getOrThrow(databaseUrl)))
      assert.deepStrictEqual([host, database, user], ["/var/run/postgresql", "app", "me"])

      const [line = ""] = yield* linesOf({ DATABASE_URL: "postgresql://me:se#cret/x@db/app" })
      assert.include(line, "percent-encode special characters of user and password")
      assert.notInclude(line, "cret")
    })
  )

  it("prints other people's text without characters that could rewrite the screen", () => {
    const written = "\u001b]0;title\u0007a\u001b[2Jb\u202egnp.exe\u2066\u009b31m\rc\u2028\td\ne\u200f"
    assert.strictEqual(harmless(written), "]0;titlea[2Jbgnp.exe31mc\td\ne")
  })

  it.effect("§10 accepts several hosts of one database, and refuses target_session_attrs for a standby", () =>
    Effect.gen(function* () {
      const of = (url: string) => Effect.map(read({ DATABASE_URL: url }), ({ databaseUrl }) => databaseUrl)
      const several = yield* of("postgresql://u:p@db1:5432,db2:5433/x?sslmode=require&application_name=a")

      assert.strictEqual(
        Redacted.value(Option.getOrThrow(several)),
        "postgresql://u:p@db1:5432,db2:5433/x?sslmode=verify-full&application_name=a"
      )
      yield* of("postgresql://u:p@db1,db2/x?target_session_attrs=read-write")
      for (const [url, problem] of [
        ["postgresql://u:hunter2@db1,/x", "is not a PostgreSQL URL"],
        ["postgresql://u:hunter2@db1,db2/x?target_session_attrs=prefer-standby", "leave it out"],
        ["postgresql://u:hunter2@db1,db2/x?sslmode=no-verify", "sslrootcert"]
      ] as const) {
        const [line] = yield* linesOf({ DATABASE_URL: url })
        assert.include(line, problem)
        assert.notInclude(line, "hunter2")
      }
    })
  )

  it.effect("§8 keeps history for 30 days and retries after 30 s, or other values within bounds", () =>
    Effect.gen(function* () {
      const days = (environment: Readonly<Record<string, string>>) =>
        Effect.map(read(environment), ({ history }) => Duration.toDays(history))

      assert.strictEqual(yield* days({}), 30)
      assert.strictEqual(yield* days({ HISTORY_RETENTION: "1 day" }), 1)
      assert.strictEqual(yield* days({ HISTORY_RETENTION: "3650 days" }), 3650)
      for (const [name, values] of [
        ["HISTORY_RETENTION", ["23 hours", "3651 days", "30", "for ever"]],
        ["DELIVERY_RETRY_DELAY", ["0 millis", "25 hours", "30", "soon"]]
      ] as const)
        for (const value of values) {
          const [line] = yield* linesOf({ [name]: value })
          assert.match(
            line ?? "",
            new RegExp(`^${name} is "${value}", but must be a duration from .+ to .+, for example`)
          )
        }
    })
  )

  it.effect("§5.1 reads one operator's token or several, newest first, by name or without one", () =>
    Effect.gen(function* () {
      const [old, present] = ["a".repeat(24), "b:".repeat(12)]
      const of = (OPERATOR_TOKEN: string) =>
        Effect.map(read({ OPERATOR_TOKEN }), ({ operatorTokens }) =>
          Option.getOrThrow(operatorTokens).map(({ name, token }) => [name, Redacted.value(token)])
        )

      assert.deepStrictEqual(yield* of(old), [[null, old]])
      assert.deepStrictEqual(yield* of(`ci-2:${present}, ${old}`), [
        ["ci-2", present],
        [null, old]
      ])
      for (const [value, problem] of [
        [`${old},short`, "must be 24 to 512 visible ASCII characters"],
        [`${old},`, "must be 24 to 512 visible ASCII characters"],
        [`a:${old},b:${old}`, "has the same token twice"],
        [`a:${old},a:${present}`, "has the same name twice"]
      ] as const) {
        const lines = yield* linesOf({ OPERATOR_TOKEN: value })
        assert.strictEqual(lines.length, 1, value)
        assert.include(lines[0], problem)
        assert.notInclude(lines[0], "aaaa")
      }
    })
  )

  it.effect("§10 stops a production start that could deliver to this machine or to a wide network", () =>
    Effect.gen(function* () {
      for (const targets of ["127.0.0.1", "[::1]", "localhost", "10.0.0.0/8", "[fd00::]/48"]) {
        const lines = yield* linesOf({ NODE_ENV: "production", DELIVERY_ALLOWED_TARGETS: targets })
        assert.strictEqual(lines.length, 1, targets)
      }
      yield* read({ NODE_ENV: "production", DELIVERY_ALLOWED_TARGETS: "10.1.2.0/24" })
    })
  )
})
