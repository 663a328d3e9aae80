/**
 * Whether this process can do its work: its database accepts writes and has this program's migrations, and a worker in the same
 * process has not stopped because of its clock.
 */
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import { pending } from "@posthorn/persistence/operations/Migrator"
import { makeWriteProbe } from "@posthorn/persistence/operations/WriteProbe"
import { Effect } from "effect"

export { isDatabaseAway, isWorkspaceGone } from "@posthorn/persistence/client/Statement"

/** A database of another build does not have this program's migrations either. */
const behind = pending.pipe(
  Effect.map((missing) => (missing.length === 0 ? null : ("migrations" as const))),
  Effect.catchTag("MigrationFailed", () => Effect.succeed("migrations" as const))
)

export class Health extends Effect.Service<Health>()("@posthorn/capabilities/Health", {
  dependencies: [DatabaseClock.Default],
  effect: Effect.gen(function* () {
    const clock = yield* DatabaseClock
    const notWriting = yield* makeWriteProbe(behind)
    return {
      /** Null if healthy, otherwise the reason. It queries the database at most once a second. */
      unready: Effect.map(notWriting, (reason) => reason ?? clock.unready()),
      database: clock.health
    } as const
  })
}) {}
