/**
 * Hints that there is something to do, by PostgreSQL's LISTEN. They save time; nothing depends on them.
 *
 * The connection is the listener's own and is opened again when it breaks. Between the two nothing is heard, and the
 * engine is told so: it looks further back until it hears again. (`sql.listen` of @effect/sql-pg stays silent for ever
 * once its connection is terminated.)
 */
import { DedicatedConnections } from "@posthorn/persistence/DedicatedConnection"
import { Context, Effect, Layer, Schedule } from "effect"

export interface Woken {
  /** From now on nothing committed goes unheard, until `deaf`. */
  readonly listening: () => void
  readonly deaf: () => void
  /** The payload: microseconds since 1970 of the earliest due time, or anything else for "look again". */
  readonly heard: (payload: string) => void
}

export class Wakeups extends Context.Tag("@posthorn/worker/Wakeups")<
  Wakeups,
  { readonly listen: (woken: Woken) => Effect.Effect<never> }
>() {}

const RECONNECT_MS = 1_000
/** A connection that is dead without a sign would leave us deaf without knowing. */
const PULSE = "10 seconds"

export const layer = Layer.effect(
  Wakeups,
  Effect.map(DedicatedConnections, (connections) => ({
    listen: (woken) =>
      Effect.gen(function* () {
        const connection = yield* connections.open("posthorn listener")
        connection.onNotification(woken.heard)
        yield* connection.query("listen posthorn_due")
        woken.listening()
        const pulse = Effect.timeout(connection.query("select 1"), PULSE)
        yield* Effect.raceFirst(connection.broken, Effect.forever(Effect.delay(pulse, PULSE)))
      }).pipe(
        Effect.scoped,
        Effect.ensuring(Effect.sync(woken.deaf)),
        Effect.tapError((error) => Effect.logDebug("The listener lost its connection", error)),
        Effect.retry(Schedule.spaced(RECONNECT_MS)),
        Effect.orDie,
        Effect.zipRight(Effect.never)
      )
  }))
)
