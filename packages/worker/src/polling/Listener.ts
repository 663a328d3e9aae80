/**
 * Receives hints by PostgreSQL's LISTEN: from publishers while this worker sleeps (Rhythm.ts), and when an endpoint is enabled
 * or changed, or its workspace's policy. They save time; no promise depends on them.
 *
 * The listener has its own connection, and reopens it when it breaks. Until then no notification arrives, and the engine is
 * told so: it polls further back meanwhile. (`sql.listen` of @effect/sql-pg stays silent forever once its connection is
 * terminated.)
 */
import { DedicatedConnections } from "@posthorn/persistence/client/DedicatedConnection"
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import { type SleepLocks, showLife, sleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { Context, Effect, Layer } from "effect"
import * as Schedules from "../Schedules.ts"
import { type Notification, notificationOf } from "./Notification.ts"

export interface Hearer {
  /** From now on, until `stoppedListening`, every commit that notifies is heard. */
  readonly listening: (locks: SleepLocks) => void
  readonly stoppedListening: () => void
  /** Something is due in these shards from this moment on (microseconds since 1970); null: check everything again. */
  readonly heard: (since: number | null, shards: ReadonlyArray<number>) => void
  /** This delivery was published. */
  readonly published: (row: DueRow) => void
  /** The endpoint was enabled, or something was changed that its requests depend on. `failures` attempts in a row have failed. */
  readonly endpointChanged: (endpointId: string, failures: number, shard: number) => void
  /** The delivery policy of this workspace was changed. */
  readonly policyChanged: (workspaceId: string) => void
}

export class Listener extends Context.Tag("@posthorn/worker/Listener")<
  Listener,
  {
    /** `owner` is this worker, as `Ownership` names it. */
    readonly listen: (hearer: Hearer, owner: string) => Effect.Effect<never>
  }
>() {}

const tell = (hearer: Hearer, told: Notification): void => {
  if (told.kind === "published") hearer.published(told.row)
  else if (told.kind === "due") hearer.heard(told.since, told.shards)
  else if (told.kind === "endpointChanged") hearer.endpointChanged(told.endpointId, told.failures, told.shard)
  else if (told.kind === "policy") hearer.policyChanged(told.workspaceId)
  else hearer.heard(null, [])
}

const PULSE_TIMEOUT = "10 seconds"

export const layer = Layer.effect(
  Listener,
  Effect.map(DedicatedConnections, (connections) => ({
    listen: (hearer, owner) =>
      Effect.gen(function* () {
        const connection = yield* connections.open("posthorn listener")
        connection.onNotification((payload) => tell(hearer, notificationOf(payload)))
        yield* connection.query("listen posthorn_due")
        yield* showLife(connection, owner)
        hearer.listening(sleepLocks(connection))
        const pulse = Effect.timeout(connection.query("select 1"), PULSE_TIMEOUT)
        yield* Effect.raceFirst(connection.broken, Effect.schedule(pulse, Schedules.pulse))
      }).pipe(
        Effect.scoped,
        Effect.ensuring(Effect.sync(hearer.stoppedListening)),
        Effect.tapError((error) => Effect.logDebug("The listener lost its connection", error)),
        Effect.retry(Schedules.listenAgain),
        Effect.orDie,
        Effect.zipRight(Effect.never)
      )
  }))
)
