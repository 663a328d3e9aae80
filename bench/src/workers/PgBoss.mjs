/** pg-boss: batches of 100, several at once, fetched without pause while they come full. */
import pg from "pg"
import { PgBoss } from "pg-boss"
import { deliverAndRecord, environment, makeLedger } from "./Given.mjs"

const pool = new pg.Pool({ connectionString: environment.databaseUrl, max: 4 })
const handle = deliverAndRecord(makeLedger(pool))
const boss = new PgBoss({
  connectionString: environment.databaseUrl,
  max: 6,
  supervise: false,
  schedule: false
})
boss.on("error", () => undefined)
await boss.start()
await boss.work(
  "deliver",
  {
    batchSize: 100,
    localConcurrency: environment.bossConcurrency ?? 2,
    pollingIntervalSeconds: 0.5,
    burstWhenBatchFull: true
  },
  (jobs) => Promise.all(jobs.map(({ data }) => handle(data)))
)
