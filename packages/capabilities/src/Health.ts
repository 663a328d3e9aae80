/** Whether this process can serve: its database answers, and is at the migration this program knows. */
import * as SqlClient from "@effect/sql/SqlClient"
import { pending } from "@posthorn/persistence/operations/Migrator"
import { Effect } from "effect"

export { isDatabaseAway, isWorkspaceGone } from "@posthorn/persistence/client/Statement"

export class Health extends Effect.Service<Health>()("@posthorn/capabilities/Health", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const ready = pending.pipe(
      Effect.provideService(SqlClient.SqlClient, sql),
      Effect.map((missing) => missing.length === 0),
      Effect.timeoutTo({ duration: "2 seconds", onSuccess: (ready) => ready, onTimeout: () => false }),
      Effect.catchAllCause(() => Effect.succeed(false))
    )

    return { ready } as const
  })
}) {}
