/**
 * The database's time, as this process computes it from the database's answers.
 *
 * A caller that asks the database for its time passes on the answer. The database read its clock between question and
 * answer, so the middle is taken; the previous estimate stays while it lies between them too. Between answers a monotonic
 * clock is added, so setting this machine's clock has no effect. Source: spec §3.4.
 */
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { gauge } from "@posthorn/telemetry/Meters"
import { makeTrouble } from "@posthorn/telemetry/Trouble"
import { Effect } from "effect"

/** From this offset on, the log says that this machine's clock is wrong. */
export const WARN_MS = 5_000

/**
 * Receivers refuse a timestamp that is 5 minutes off their own, so a worker whose clock is further off than this sends
 * nothing.
 */
export const MOST_OFF_MS = 240_000

const offset = gauge(
  "posthorn_clock_offset_seconds",
  "This machine's clock minus the database's, in seconds; 0 before the database was asked."
)

const roundTrip = gauge(
  "posthorn_database_round_trip_seconds",
  "How long the database takes to answer, in seconds: the least of the last ten times; 0 before it was asked."
)

/** From this round trip on, the log, `/health/ready` and `posthorn doctor` say that the database is slow or far away. */
export const SLOW_MS = 50

/** The least of so many counts: a process that is busy or stood still measures long ones. */
const ROUND_TRIPS = 10

export const describeSlowness = (roundTripMs: number): string =>
  `the database takes ${Math.round(roundTripMs)} ms to answer: each publish and each delivery waits for several answers. Run Posthorn near it.`

export const describeOffset = (milliseconds: number): string =>
  `${(Math.abs(milliseconds) / 1000).toFixed(1)} s ${milliseconds > 0 ? "ahead of" : "behind"} the database's`

export class DatabaseClock extends Effect.Service<DatabaseClock>()(
  "@posthorn/persistence/client/DatabaseClock",
  {
    effect: Effect.map(Effect.clock, (clock) => {
      offset.set(0)
      const wrong = makeTrouble("This machine's clock is wrong", "This machine's clock is right again")
      const slow = makeTrouble("The database is slow or far away", "The database answers quickly again")
      roundTrip.set(0)
      const roundTrips: Array<number> = []
      /** In milliseconds; 0 before the database was asked. */
      const roundTripMs = (): number => (roundTrips.length === 0 ? 0 : Math.min(...roundTrips))
      const isSlow = (): boolean => roundTrips.length === ROUND_TRIPS && roundTripMs() >= SLOW_MS
      /** The database's time when `elapsed` was 0. */
      let origin: number | undefined
      let stopped = false

      /** Milliseconds since 1970, by this machine's clock until the database was asked. */
      const now = (): number =>
        origin === undefined ? clock.unsafeCurrentTimeMillis() : Math.floor(origin + elapsed(clock))
      /** In milliseconds. */
      const off = (): number => clock.unsafeCurrentTimeMillis() - now()

      return {
        now,
        off,
        roundTripMs,
        /** What `/health/ready` tells of the database. */
        health: () => ({
          databaseRoundTripMs: Math.round(roundTripMs()),
          ...(isSlow() && { warning: describeSlowness(roundTripMs()) })
        }),
        /**
         * Takes an answer of the database: `asked` is `elapsed` at the question, `answer` its time in milliseconds, received
         * just now.
         */
        measured: (asked: number, answer: number) =>
          Effect.suspend(() => {
            const took = elapsed(clock) - asked
            roundTrips.splice(0, Math.max(0, roundTrips.length + 1 - ROUND_TRIPS))
            roundTrips.push(took)
            roundTrip.set(roundTripMs() / 1000)
            const half = took / 2
            const measured = answer - (asked + half)
            if (origin === undefined || Math.abs(measured - origin) > half) origin = measured
            offset.set(off() / 1000)
            return Effect.zipRight(
              isSlow() ? slow.failed(`its answers take ${Math.round(roundTripMs())} ms`) : slow.over,
              Math.abs(off()) < WARN_MS
                ? wrong.over
                : wrong.failed(`${describeOffset(off())}. Set both by NTP`)
            )
          }),
        isTooFarOff: () => Math.abs(off()) > MOST_OFF_MS,
        setStopped: (value: boolean) => {
          stopped = value
        },
        /** Why this process is not ready because of its clock, or null. */
        unready: (): "clock" | null => (stopped ? "clock" : null)
      } as const
    })
  }
) {}
