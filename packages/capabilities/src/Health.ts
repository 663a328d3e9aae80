/** Whether this process can serve: its database takes what is written, and is at the migration this program knows. */
import { pending } from "@posthorn/persistence/operations/Migrator"
import { makeWriteProbe } from "@posthorn/persistence/operations/WriteProbe"
import { Effect } from "effect"

export { isDatabaseAway, isWorkspaceGone } from "@posthorn/persistence/client/Statement"

/** A database of another build is not at its migration either. */
const behind = pending.pipe(
  Effect.map((missing) => (missing.length === 0 ? null : ("migrations" as const))),
  Effect.catchTag("MigrationFailed", () => Effect.succeed("migrations" as const))
)

export class Health extends Effect.Service<Health>()("@posthorn/capabilities/Health", {
  effect: Effect.map(makeWriteProbe(behind), (unready) => ({
    /** Null, or why not. It asks the database at most once a second. */
    unready
  }))
}) {}
