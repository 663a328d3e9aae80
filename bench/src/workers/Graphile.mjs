/** graphile-worker: tuned (local queue, batched completion, our client, evidence in groups), or as usually written. */
import { run } from "graphile-worker"
import pg from "pg"
import { deliverAndRecord, deliverAsUsual, environment, makeLedger } from "./Given.mjs"

const tuned = process.argv[2] === "tuned"
const pool = new pg.Pool({ connectionString: environment.databaseUrl, max: tuned ? 10 : 20 })
const handle = tuned ? deliverAndRecord(makeLedger(pool)) : deliverAsUsual(pool)

await run({
  pgPool: pool,
  taskList: { deliver: handle },
  noHandleSignals: true,
  logger: undefined,
  concurrentJobs: tuned ? 100 : 20,
  preset: {
    worker: tuned
      ? {
          connectionString: environment.databaseUrl,
          concurrentJobs: 100,
          pollInterval: 500,
          localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0
        }
      : { connectionString: environment.databaseUrl, concurrentJobs: 20, pollInterval: 500 }
  }
})
