/** Shared parts of the production commands, with the checks of what they require at the start. */

import { nothingAllowed } from "@posthorn/domain/AllowedTargets"
import * as Database from "@posthorn/persistence/client/Database"
import * as DedicatedConnection from "@posthorn/persistence/client/DedicatedConnection"
import { keepsSessions } from "@posthorn/persistence/client/KeepsSessions"
import { SecretBox, make as secretBox } from "@posthorn/persistence/client/SecretBox"
import { sqlProblemOf } from "@posthorn/persistence/client/Statement"
import { notWriting } from "@posthorn/persistence/client/WriteRefusals"
import { readsOnly } from "@posthorn/persistence/operations/DoctorChecks"
import { keyWarning } from "@posthorn/persistence/operations/KeyCheck"
import { standing } from "@posthorn/persistence/operations/Migrator"
import { SecretsRepo } from "@posthorn/persistence/operations/SecretsRepo"
import { Data, Effect, Option } from "effect"
import { counted } from "../command/Counted.ts"
import { complain } from "../command/Terminal.ts"
import { InvalidEnvironment, lineOf } from "../settings/Environment.ts"
import type { Settings } from "../settings/Settings.ts"
import { exampleOf } from "../settings/Variables.ts"
import type { RoleSettings } from "./RoleSettings.ts"

/** The database lacks migrations this program needs. */
export class MigrationsPending extends Data.TaggedError("MigrationsPending")<{ readonly count: number }> {
  override get message() {
    return `The database is ${counted(this.count, "migration")} behind: run \`posthorn migrate\` first.`
  }
}

/** DATABASE_URL leads to a pooler in transaction mode: a worker's locks and notifications would not stay with its session. */
export class PoolerInBetween extends Data.TaggedError("PoolerInBetween") {
  override get message() {
    return "DATABASE_URL leads through a pooler that gives each transaction another session, and a worker needs one of its own. Set the pooler to session mode, or name the database's direct address in DATABASE_URL."
  }
}

type RequiredName = "DATABASE_URL" | "ENCRYPTION_KEY" | "OPERATOR_TOKEN"

export const required = (given: Settings, names: ReadonlyArray<RequiredName>) => {
  const values = {
    DATABASE_URL: given.databaseUrl,
    ENCRYPTION_KEY: given.encryptionKeys,
    OPERATOR_TOKEN: given.operatorTokens
  }
  const lines = names
    .filter((name) => Option.isNone(values[name] as Option.Option<unknown>))
    .map((name) => lineOf(name, "is not set", exampleOf(name)))
  return lines.length === 0 ? Effect.void : Effect.fail(new InvalidEnvironment({ lines }))
}

/** Warns at the start about secrets that no key opens: their deliveries would wait. */
const tryKeys = (given: Settings) =>
  keyWarning.pipe(
    Effect.provide(SecretsRepo.Default),
    Effect.provideService(SecretBox, secretBox(Option.getOrElse(given.encryptionKeys, () => []))),
    Effect.flatMap((warning) => (warning === undefined ? Effect.void : complain(warning)))
  )

export const resolve = (given: Settings): RoleSettings => ({
  settings: given,
  databaseUrl: Option.getOrThrow(given.databaseUrl),
  encryptionKeys: Option.getOrElse(given.encryptionKeys, () => []),
  operatorTokens: Option.getOrElse(given.operatorTokens, () => []),
  allowedTargets: Option.getOrElse(given.allowedTargets, () => nothingAllowed),
  port: given.port,
  drainSeconds: given.drainSeconds
})

export const migrationsOf = (given: Settings) =>
  Database.layer({
    url: Option.getOrThrow(given.databaseUrl),
    applicationName: "posthorn migrate",
    maxConnections: 2
  })

/** The database is newer, and its migrations allow this program: an upgrade is under way. */
export const aheadBy = (count: number) =>
  `The database is ${count} ${count === 1 ? "migration" : "migrations"} ahead of this program, which may run beside ${count === 1 ? "it" : "them"}`

const current = Effect.flatMap(standing, ({ ahead, missing }) =>
  missing.length > 0
    ? Effect.fail(new MigrationsPending({ count: missing.length }))
    : Effect.when(Effect.logInfo(aheadBy(ahead)), () => ahead > 0)
)

/** Once, at the start; readiness and the meter `posthorn_database_up` say the rest. */
const tellIfReadOnly = Effect.flatMap(readsOnly, (isSo) =>
  Effect.when(
    Effect.logWarning(
      "The database accepts no writes: it is a standby, or default_transaction_read_only is on. Waiting until it does."
    ),
    () => isSo
  )
)

export const requireCurrent = (given: Settings) => Effect.provide(current, migrationsOf(given))

/** The same, and also tries the keys, on one connection. */
export const requireReady = (given: Settings) =>
  Effect.provide(Effect.all([current, tellIfReadOnly, tryKeys(given)]), migrationsOf(given))

/** Fails with `PoolerInBetween`. A server that only reads cannot tell. */
const keepingSessions = Effect.filterOrFail(keepsSessions, Boolean, () => new PoolerInBetween()).pipe(
  Effect.catchIf(
    (error) => error._tag === "SqlError" && notWriting(sqlProblemOf(error).code) === "read_only",
    () => Effect.void
  ),
  Effect.provide(DedicatedConnection.layer)
)

/** A worker's additional requirements. */
export const requireReadyToWork = (given: Settings) =>
  Effect.provide(Effect.all([current, tellIfReadOnly, keepingSessions, tryKeys(given)]), migrationsOf(given))
