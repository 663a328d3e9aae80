/** BullMQ on Redis; the evidence goes to PostgreSQL as everybody's does. */
import { Worker } from "bullmq"
import Redis from "ioredis"
import pg from "pg"
import { deliverAndRecord, environment, makeLedger } from "./Given.mjs"

const pool = new pg.Pool({ connectionString: environment.databaseUrl, max: 4 })
const handle = deliverAndRecord(makeLedger(pool))
const connection = new Redis(environment.redisUrl, { maxRetriesPerRequest: null })
const worker = new Worker("deliver", ({ data }) => handle(data), {
  connection,
  concurrency: 100,
  removeOnComplete: { count: 0 },
  removeOnFail: { count: 0 }
})
worker.on("error", () => undefined)
