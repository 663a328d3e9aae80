/** A reader by itself, with a queue of the test's and a hub that nobody else speaks to. */
import type { Queue } from "@posthorn/persistence/Queue"
import { Effect } from "effect"
import { Lanes } from "../src/Lanes.ts"
import { Reader } from "../src/Reader.ts"
import { tuned } from "../src/Tuning.ts"

export const readerOf = (queue: Queue["Type"]) =>
  Effect.map(Effect.clock, (clock) => {
    const lanes = new Lanes({ endpointConcurrency: 10 })
    return { lanes, reader: new Reader({ queue, lanes, clock, tuning: tuned }) }
  })
