/** The roles of a production installation: `serve`, `work`, `migrate`. Each needs what it names, and says so at once. */
import { nothingAllowed } from "@posthorn/domain/AllowedTargets"
import * as Database from "@posthorn/persistence/Database"
import { pending, migrate as runMigrations } from "@posthorn/persistence/Migrator"
import { Data, Effect, Layer, Option, Redacted } from "effect"
import { freePort } from "./FreePort.ts"
import { baseUrlOf, type Resolved, serverOf, workerOf } from "./Roles.ts"
import { InvalidEnvironment, type Settings, settings } from "./Settings.ts"
import { say } from "./Terminal.ts"

/** The database lacks migrations this program needs. */
export class MigrationsPending extends Data.TaggedError("MigrationsPending")<{ readonly count: number }> {
  override get message() {
    return `The database is ${this.count} migrations behind: run \`posthorn migrate\` first.`
  }
}

const examples = {
  DATABASE_URL: "postgresql://user:password@db.example.com:5432/posthorn",
  ENCRYPTION_KEY: "$(openssl rand -base64 32)",
  OPERATOR_TOKEN: "$(openssl rand -hex 32)"
} as const

export const required = (given: Settings, names: ReadonlyArray<keyof typeof examples>) => {
  const values = {
    DATABASE_URL: given.databaseUrl,
    ENCRYPTION_KEY: given.encryptionKeys,
    OPERATOR_TOKEN: given.operatorToken
  }
  const lines = names
    .filter((name) => Option.isNone(values[name] as Option.Option<unknown>))
    .map((name) => `${name} is not set, for example ${name}=${examples[name]}`)
  return lines.length === 0 ? Effect.void : Effect.fail(new InvalidEnvironment({ lines }))
}

const resolve = (given: Settings): Resolved => ({
  settings: given,
  databaseUrl: Option.getOrThrow(given.databaseUrl),
  encryptionKeys: Option.getOrElse(given.encryptionKeys, () => []),
  operatorToken: Option.getOrElse(given.operatorToken, () => Redacted.make("")),
  allowedTargets: Option.getOrElse(given.allowedTargets, () => nothingAllowed),
  port: given.port
})

const migrationsOf = (given: Settings) =>
  Database.layer({
    url: Option.getOrThrow(given.databaseUrl),
    applicationName: "posthorn migrate",
    maxConnections: 2
  })

export const requireCurrent = (given: Settings) =>
  Effect.flatMap(Effect.provide(pending, migrationsOf(given)), (missing) =>
    missing.length === 0 ? Effect.void : Effect.fail(new MigrationsPending({ count: missing.length }))
  )

/** REST, MCP and the pages. */
export const serve = Effect.gen(function* () {
  const given = yield* settings
  yield* required(given, ["DATABASE_URL", "ENCRYPTION_KEY", "OPERATOR_TOKEN"])
  yield* requireCurrent(given)
  const port = given.port === 0 ? yield* freePort(0, given.host) : given.port
  const resolved = { ...resolve(given), port }
  yield* Layer.build(serverOf(resolved))
  yield* say(`posthorn serve: listening on ${baseUrlOf(resolved)}`)
  return yield* Effect.never
}).pipe(Effect.scoped)

/** The delivery worker. */
export const work = Effect.gen(function* () {
  const given = yield* settings
  yield* required(given, ["DATABASE_URL", "ENCRYPTION_KEY"])
  yield* requireCurrent(given)
  yield* Layer.build(workerOf(resolve(given)))
  yield* say("posthorn work: delivering")
  return yield* Effect.never
}).pipe(Effect.scoped)

/** Bring the database up to date, and end. */
export const migrate = Effect.gen(function* () {
  const given = yield* settings
  yield* required(given, ["DATABASE_URL"])
  const applied = yield* Effect.provide(runMigrations, migrationsOf(given))
  for (const { name, version } of applied) yield* say(`applied ${String(version).padStart(4, "0")} ${name}`)
  yield* say(applied.length === 0 ? "The database is up to date." : "Done.")
})
