/** A reader by itself, with a queue of the test's and a hub that nobody else speaks to. */
import type { Lookout, Queue } from "@posthorn/persistence/Queue"
import { Effect } from "effect"
import { Lanes } from "../src/Lanes.ts"
import { Reader } from "../src/Reader.ts"
import { tuned } from "../src/Tuning.ts"

export const readerOf = (queue: Queue["Type"]) =>
  Effect.map(Effect.clock, (clock) => {
    const lanes = new Lanes({ endpointConcurrency: 10 })
    return { lanes, reader: new Reader({ queue, lanes, clock, tuning: tuned }) }
  })

/** Where nothing waits, but for what `due` of the test's shows. */
export const quietQueue: Omit<Queue["Type"], "due"> = {
  heads: () => Effect.succeed({ rows: [], next: null }),
  nextDue: () => Effect.succeed(null),
  dueOf: () => Effect.succeed([]),
  load: () => Effect.succeed([]),
  takeUp: () => Effect.succeed(new Map()),
  disabledAmong: () => Effect.succeed([])
}

/** What `due` does before it reads: looks until there is something new, or until the time is over. */
export const lookingOut = (
  lookout: Lookout | null,
  isNew: (known: Lookout["known"]) => boolean
): Effect.Effect<void> => {
  const look = (left: Lookout): Effect.Effect<void> =>
    left.patienceMs <= 0 || isNew(left.known)
      ? Effect.void
      : Effect.flatMap(Effect.sleep(left.pauseMs), () =>
          look({ ...left, patienceMs: left.patienceMs - left.pauseMs })
        )
  return lookout === null ? Effect.void : Effect.suspend(() => look(lookout))
}
