/**
 * Hears by LISTEN of published deliveries (only while this worker sleeps), and of changed endpoints and policies. These
 * notifications only save time. The Listener has a connection of its own. While it reopens that connection, the Poller reads
 * further back. (`sql.listen` of @effect/sql-pg stays silent once its connection is terminated.)
 */
import { DedicatedConnections } from "@posthorn/persistence/client/DedicatedConnection"
import type { DatabaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import { type SleepLocks, showLife, sleepLocks } from "@posthorn/persistence/engine/SleepLocks"
import { Context, Effect, Layer } from "effect"
import type { LaneKey } from "../dispatcher/Lane.ts"
import * as Schedules from "../Schedules.ts"
import { type DatabaseNotification, notificationOf } from "./DatabaseNotification.ts"

export interface Hearer {
  /** Until `stoppedListening`, every commit that notifies is heard. */
  readonly listening: (locks: SleepLocks) => void
  readonly stoppedListening: () => void
  /** Microseconds since 1970; null: check everything. */
  readonly heard: (since: DatabaseMicros | null, shards: ReadonlyArray<number>) => void
  readonly published: (row: DueRow) => void
  /** `failures` attempts in a row have failed. */
  readonly endpointChanged: (endpointId: string, failures: number, shard: number) => void
  /** The endpoint was enabled, or has another secret or request profile. */
  readonly endpointUsable: (endpoint: LaneKey) => void
  readonly policyChanged: (workspaceId: string) => void
}

export class Listener extends Context.Tag("@posthorn/worker/Listener")<
  Listener,
  {
    readonly listen: (hearer: Hearer, owner: string) => Effect.Effect<never>
  }
>() {}

const tell = (hearer: Hearer, told: DatabaseNotification): void => {
  if (told.kind === "published") hearer.published(told.row)
  else if (told.kind === "due") hearer.heard(told.since, told.shards)
  else if (told.kind === "endpointChanged") hearer.endpointChanged(told.endpointId, told.failures, told.shard)
  else if (told.kind === "usable") hearer.endpointUsable(told.endpoint)
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
