/**
 * Whether this process can do its work: its database accepts writes and has this program's migrations, and a worker in the same
 * process has not stopped because of its clock.
 */
import { DatabaseClock } from "@posthorn/persistence/client/DatabaseClock"
import { readyProbe } from "@posthorn/persistence/operations/WriteProbe"
import { Effect } from "effect"

export { isDatabaseAway, isWorkspaceGone } from "@posthorn/persistence/client/Statement"

export class Health extends Effect.Service<Health>()("@posthorn/capabilities/Health", {
  dependencies: [DatabaseClock.Default],
  effect: Effect.gen(function* () {
    const clock = yield* DatabaseClock
    const database = yield* readyProbe
    return {
      /** Null if healthy, otherwise the reason. It queries the database at most once a second. */
      unready: Effect.map(database, (reason) => reason ?? clock.unready()),
      database: clock.health
    } as const
  })
}) {}
