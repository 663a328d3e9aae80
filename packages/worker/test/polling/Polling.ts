/** A poller alone, with a queue of the test and a dispatcher that no other loop uses. */
import type { Queue } from "@posthorn/persistence/engine/Queue"
import { Effect } from "effect"
import { Dispatcher, type DispatcherOptions } from "../../src/dispatcher/Dispatcher.ts"
import { Poller } from "../../src/polling/Poller.ts"
import { PollInbox } from "../../src/polling/PollInbox.ts"
import { tuned } from "../../src/Tuning.ts"

/** Options of a dispatcher without loops. */
export const alone: DispatcherOptions = {
  ...tuned,
  endpointConcurrency: 10,
  slots: 0,
  retryDelayMs: 0,
  later: () => undefined,
  wakeAt: () => undefined,
  pollFrom: () => undefined,
  pollOn: () => undefined
}

export const pollerOf = (queue: Queue["Type"]) =>
  Effect.map(Effect.clock, (clock) => {
    const inbox = new PollInbox()
    const dispatcher = new Dispatcher({
      ...alone,
      pollFrom: (moment) => inbox.tell({ kind: "from", moment }),
      pollOn: () => inbox.tell({ kind: "goOn" })
    })
    return { inbox, dispatcher, poller: new Poller({ queue, dispatcher, inbox, clock, tuning: tuned }) }
  })

/** A queue in which nothing waits, except what the test's `due` returns. */
export const quietQueue: Omit<Queue["Type"], "due"> = {
  firstOfEndpoints: () => Effect.succeed({ rows: [], next: null }),
  nextDue: () => Effect.succeed(null),
  dueOfEndpoints: () => Effect.succeed([]),
  payload: () => Effect.dieMessage("payload"),
  load: () => Effect.succeed([]),
  startsSince: () => Effect.succeed([]),
  countClaims: () => Effect.succeed(new Map())
}
