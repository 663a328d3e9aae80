/** What the commands of a production installation share: each needs what it names, and says so at once. */

import { nothingAllowed } from "@posthorn/domain/AllowedTargets"
import * as Database from "@posthorn/persistence/Database"
import { keyWarning } from "@posthorn/persistence/KeyCheck"
import { pending } from "@posthorn/persistence/Migrator"
import { SecretBox, make as secretBox } from "@posthorn/persistence/SecretBox"
import { SecretsRepo } from "@posthorn/persistence/SecretsRepo"
import { Data, Effect, Option, Redacted } from "effect"
import type { Resolved } from "./Resolved.ts"
import { InvalidEnvironment, type Settings } from "./Settings.ts"
import { complain } from "./Terminal.ts"

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

/** Says at the start when secrets stay shut: deliveries would only wait. */
export const tryKeys = (given: Settings) =>
  keyWarning.pipe(
    Effect.provide(SecretsRepo.Default),
    Effect.provide(migrationsOf(given)),
    Effect.provideService(SecretBox, secretBox(Option.getOrElse(given.encryptionKeys, () => []))),
    Effect.flatMap((warning) => (warning === undefined ? Effect.void : complain(warning)))
  )

export const resolve = (given: Settings): Resolved => ({
  settings: given,
  databaseUrl: Option.getOrThrow(given.databaseUrl),
  encryptionKeys: Option.getOrElse(given.encryptionKeys, () => []),
  operatorToken: Option.getOrElse(given.operatorToken, () => Redacted.make("")),
  allowedTargets: Option.getOrElse(given.allowedTargets, () => nothingAllowed),
  port: given.port
})

export const migrationsOf = (given: Settings) =>
  Database.layer({
    url: Option.getOrThrow(given.databaseUrl),
    applicationName: "posthorn migrate",
    maxConnections: 2
  })

export const requireCurrent = (given: Settings) =>
  Effect.flatMap(Effect.provide(pending, migrationsOf(given)), (missing) =>
    missing.length === 0 ? Effect.void : Effect.fail(new MigrationsPending({ count: missing.length }))
  )
