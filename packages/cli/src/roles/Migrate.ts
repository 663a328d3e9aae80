/** `posthorn migrate`: brings the database up to date, and ends. */
import { migrate as runMigrations } from "@posthorn/persistence/operations/Migrator"
import { writeQuotas } from "@posthorn/persistence/operations/Quotas"
import { Effect } from "effect"
import { say } from "../command/Terminal.ts"
import { settings } from "../settings/Settings.ts"
import { migrationsOf, required } from "./StartChecks.ts"

export const migrate = Effect.gen(function* () {
  const given = yield* settings
  yield* required(given, ["DATABASE_URL"])
  const applied = yield* Effect.provide(
    Effect.tap(runMigrations, () => writeQuotas(given.limits)),
    migrationsOf(given)
  )
  for (const { name, version } of applied) yield* say(`applied ${String(version).padStart(4, "0")} ${name}`)
  yield* say(applied.length === 0 ? "The database is up to date." : "Done.")
})
