/** A poller alone, with a queue of the test and a hub that no other loop uses. */
import type { Queue } from "@posthorn/persistence/engine/Queue"
import { Effect } from "effect"
import { Lanes, type LanesOptions } from "../../src/lanes/Lanes.ts"
import { Poller } from "../../src/loops/Poller.ts"
import { PollInbox } from "../../src/loops/PollInbox.ts"
import { tuned } from "../../src/Tuning.ts"

/** Options of a hub without loops. */
export const alone: LanesOptions = {
  ...tuned,
  endpointConcurrency: 10,
  slots: 0,
  retryDelayMs: 0,
  later: () => undefined,
  wakeAt: () => undefined,
  pollFrom: () => undefined
}

export const pollerOf = (queue: Queue["Type"]) =>
  Effect.map(Effect.clock, (clock) => {
    const inbox = new PollInbox()
    const lanes = new Lanes({ ...alone, pollFrom: inbox.pollFrom })
    return { inbox, lanes, poller: new Poller({ queue, lanes, inbox, clock, tuning: tuned }) }
  })

/** A queue in which nothing waits, except what the test's `due` returns. */
export const quietQueue: Omit<Queue["Type"], "due"> = {
  heads: () => Effect.succeed({ rows: [], next: null }),
  nextDue: () => Effect.succeed(null),
  dueOf: () => Effect.succeed([]),
  load: () => Effect.succeed([]),
  begun: () => Effect.succeed([]),
  countClaims: () => Effect.succeed(new Map()),
  disabledAmong: () => Effect.succeed([])
}
