/**
 * The workers that are compared. Each has a database template, a way to enqueue (all at once, or one by one), a process
 * that delivers, and a question whose answer is true when nothing is left to do.
 */
import { fork, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { posthornFile, sharedFile } from "./Bundle.mjs"
import { connect } from "./Servers.mjs"

const { decodeSecret, generateSecret, newId, sealer } = await import(sharedFile)

const CHUNK = 1000
export const encryptionKey = Buffer.alloc(32, 7).toString("base64")
export const secret = generateSecret()
/** Seals secrets as Posthorn does, under the key its workers are given. */
export const sealerOf = () => sealer(encryptionKey)
export const key = Buffer.from(decodeSecret(secret)).toString("base64")

/** About 500 bytes of body. */
const PAD = "x".repeat(330)
export const payload = (n, sent) => `{"sent":${sent.toFixed(3)},"n":${n},"pad":"${PAD}"}`

export const endpointsAt = (urls) =>
  urls.map((url, n) => ({ id: newId("endpoint"), url, eventType: `bench.e${n}` }))

/** With endpoints whose secret all receivers know. */
export const addWorkspace = async (client, slug, endpoints) => {
  const workspace = newId("workspace")
  const seal = sealer(encryptionKey)
  await client.query("insert into posthorn.workspaces (id, slug, name) values ($1, $2, 'Bench')", [
    workspace,
    slug
  ])
  for (const { id, url, eventType } of endpoints) {
    await client.query(
      "insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, secret) values ($1, $2, $3, $4, true, $5)",
      [workspace, id, url, [eventType], seal(workspace, id, secret)]
    )
  }
}

const posthornSchema = (endpoints) => async (url) => {
  await new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [posthornFile, "migrate"], {
      env: { ...process.env, DATABASE_URL: url },
      stdio: ["ignore", "ignore", "inherit"]
    })
    child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error("posthorn migrate failed"))))
  })
  const client = await connect(url)
  await addWorkspace(client, "bench", endpoints)
  await client.end()
}

const BENCH_SCHEMA = `
  create schema bench;
  create table bench.deliveries (
    id text collate "C" primary key, endpoint_id text not null, event_type text not null, payload text not null,
    status text not null default 'pending', attempts smallint not null default 0, last_http_status smallint,
    last_failure_reason text, last_duration_ms integer, last_attempt_at timestamptz,
    created_at timestamptz not null default now()
  ) with (fillfactor = 55);
  create index on bench.deliveries (endpoint_id, created_at desc, id desc);
  create table bench.attempts (
    delivery_id text collate "C", ordinal smallint, status text not null, at timestamptz not null,
    duration_ms integer not null, http_status smallint, failure_reason text, headers text not null, body text,
    primary key (delivery_id, ordinal)
  );
  create table bench.queue (
    delivery_id text collate "C" primary key, endpoint_id text not null, due_at timestamptz not null
  ) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
          autovacuum_vacuum_cost_delay = 0);
  create index on bench.queue (due_at, delivery_id)`

const benchSchema = (more) => async (url) => {
  const client = await connect(url)
  await client.query(BENCH_SCHEMA)
  await client.end()
  await more?.(url)
}

const INSERT = `insert into bench.deliveries (id, endpoint_id, event_type, payload)
  select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])`

const columns = (jobs) =>
  ["id", "endpoint", "eventType", "payload"].map((name) => jobs.map((job) => job[name]))

export const jobsFor = (endpoints, count, sent) =>
  Array.from({ length: count }, (_, n) => {
    const endpoint = endpoints[n % endpoints.length]
    return {
      id: newId("delivery"),
      endpoint: endpoint.id,
      eventType: endpoint.eventType,
      payload: payload(n, sent)
    }
  })

/** One transaction for all, so that a worker that is already running sees them all at the same moment. */
const inOneTransaction = (insert) => async (context, jobs) => {
  const { client } = context
  await client.query("begin")
  for (let at = 0; at < jobs.length; at += CHUNK) await insert(context, jobs.slice(at, at + CHUNK))
  const committed = process.hrtime.bigint()
  await client.query("commit")
  return Number(committed) / 1e6
}

const given = ({ url, endpoints, redisUrl, requestTimeoutMs }) => ({
  ...process.env,
  BENCH_GIVEN: JSON.stringify({ databaseUrl: url, endpoints, redisUrl, requestTimeoutMs, key })
})

/** Of every process that is measured, Posthorn's or not, as Posthorn's image has it. */
export const YOUNG_GENERATION = "--max-semi-space-size=32"

const nodeOptions = () => [
  YOUNG_GENERATION,
  ...(process.env.BENCH_NODE_OPTIONS ?? "").split(" ").filter(Boolean)
]

const ours =
  (file, ...args) =>
  (context) =>
    fork(fileURLToPath(new URL(`./workers/${file}.mjs`, import.meta.url)), args, {
      env: given(context),
      execArgv: nodeOptions(),
      stdio: ["ignore", "ignore", "inherit", "ipc"]
    })

const none =
  (table) =>
  async ({ client }) =>
    (await client.query(`select not exists (select from ${table}) as none`)).rows[0].none

const recorded =
  (table) =>
  async ({ client }) =>
    Number((await client.query(`select count(*) as n from ${table}`)).rows[0].n)

export const posthorn = {
  name: "posthorn",
  label: "Posthorn",
  schema: posthornSchema,
  enqueue: inOneTransaction(({ client }, jobs) =>
    client.query(
      "select count(*) from posthorn.publish_events('bench', $1, $2::json[], array_fill(null::text, array[$3::int]))",
      [jobs.map((job) => job.eventType), jobs.map((job) => job.payload), jobs.length]
    )
  ),
  publish: ({ client }, job) =>
    client.query({
      name: "publish",
      text: "select posthorn.publish('bench', $1, $2::json)",
      values: [job.eventType, job.payload]
    }),
  start: ({ url, requestTimeoutMs, slots }) =>
    spawn(process.execPath, [...nodeOptions(), posthornFile, "work"], {
      env: {
        ...process.env,
        DATABASE_URL: url,
        ENCRYPTION_KEY: encryptionKey,
        DELIVERY_ALLOWED_TARGETS: "127.0.0.1",
        DELIVERY_ALLOW_HTTP: "true",
        DELIVERY_REQUEST_TIMEOUT: `${requestTimeoutMs} millis`,
        LOG_LEVEL: process.env.BENCH_LOG_LEVEL ?? "error",
        ...(slots ? { WORKER_BATCH_SIZE: `${slots}`, WORKER_MAX_CONCURRENCY: "1" } : {})
      },
      stdio: ["ignore", "ignore", "inherit"]
    }),
  finished: none("posthorn.queue"),
  recorded: recorded("posthorn.attempts")
}

const loop = {
  name: "loop",
  label: "minimal loop",
  schema: () => benchSchema(),
  enqueue: inOneTransaction(async ({ client }, jobs) => {
    await client.query(INSERT, columns(jobs))
    await client.query(
      "insert into bench.queue select id, endpoint, clock_timestamp() from unnest($1::text[], $2::text[]) as j(id, endpoint)",
      columns(jobs).slice(0, 2)
    )
    await client.query("notify bench")
  }),
  publish: ({ client }, job) =>
    client.query({
      name: "publish",
      text: `with d as (insert into bench.deliveries (id, endpoint_id, event_type, payload) values ($1, $2, $3, $4)),
          n as (select pg_notify('bench', ''))
        insert into bench.queue select $1, $2, clock_timestamp() from n`,
      values: [job.id, job.endpoint, job.eventType, job.payload]
    }),
  start: ours("Loop"),
  finished: none("bench.queue"),
  recorded: recorded("bench.attempts")
}

const ADD_JOBS = `select count(*) from graphile_worker.add_jobs(array(
  select json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', 'deliver', 'payload', p::json))
  from unnest($1::text[]) as p))`

const graphileSchema = () =>
  benchSchema(async (url) => {
    const { runMigrations } = await import("graphile-worker")
    await runMigrations({ connectionString: url })
  })

const graphile = (name, label, mode) => ({
  name,
  label,
  schema: graphileSchema,
  enqueue: inOneTransaction(async ({ client }, jobs) => {
    await client.query(INSERT, columns(jobs))
    await client.query(ADD_JOBS, [jobs.map((job) => JSON.stringify(job))])
  }),
  publish: ({ client }, job) =>
    client.query({
      name: "publish",
      text: `with d as (insert into bench.deliveries (id, endpoint_id, event_type, payload) values ($1, $2, $3, $4))
        select graphile_worker.add_job('deliver', $5::json)`,
      values: [job.id, job.endpoint, job.eventType, job.payload, JSON.stringify(job)]
    }),
  start: ours("Graphile", mode),
  finished: none("graphile_worker._private_jobs"),
  recorded: recorded("bench.attempts")
})

const boss = {
  name: "pg-boss",
  label: "pg-boss, tuned",
  schema: () =>
    benchSchema(async (url) => {
      const { PgBoss } = await import("pg-boss")
      const instance = new PgBoss({ connectionString: url, supervise: false, schedule: false })
      instance.on("error", () => undefined)
      await instance.start()
      await instance.createQueue("deliver", { retryLimit: 3 })
      await instance.stop({ graceful: false })
    }),
  prepare: async (context) => {
    const { PgBoss } = await import("pg-boss")
    context.boss = new PgBoss({
      connectionString: context.url,
      max: 2,
      supervise: false,
      schedule: false,
      migrate: false
    })
    context.boss.on("error", () => undefined)
    await context.boss.start()
  },
  enqueue: inOneTransaction(async ({ client, boss }, jobs) => {
    await client.query(INSERT, columns(jobs))
    const db = { executeSql: (text, values) => client.query(text, values) }
    await boss.insert(
      "deliver",
      jobs.map((data) => ({ data })),
      { db }
    )
  }),
  dispose: ({ boss }) => boss.stop({ graceful: false }),
  start: ours("PgBoss"),
  finished: async ({ client }) =>
    (await client.query("select not exists (select from pgboss.job where state < 'completed') as none"))
      .rows[0].none,
  recorded: recorded("bench.attempts")
}

const bull = {
  name: "bullmq",
  label: "BullMQ + Redis",
  needsRedis: true,
  schema: () => benchSchema(),
  prepare: async (context) => {
    const { Queue } = await import("bullmq")
    const { default: Redis } = await import("ioredis")
    context.redis = new Redis(context.redisUrl, { maxRetriesPerRequest: null })
    context.queue = new Queue("deliver", { connection: context.redis })
  },
  /** No transaction spans both stores; the queue is paused meanwhile, so that all become due at the same moment. */
  enqueue: async (context, jobs) => {
    const { client, queue } = context
    await queue.pause()
    for (let at = 0; at < jobs.length; at += CHUNK) {
      const some = jobs.slice(at, at + CHUNK)
      await client.query(INSERT, columns(some))
      await queue.addBulk(some.map((data) => ({ name: "deliver", data })))
    }
    const resumed = process.hrtime.bigint()
    await queue.resume()
    return Number(resumed) / 1e6
  },
  publish: async ({ client, queue }, job) => {
    await client.query({ name: "insert", text: INSERT, values: columns([job]) })
    await queue.add("deliver", job)
  },
  dispose: async ({ queue, redis }) => {
    await queue.close()
    redis.disconnect()
  },
  start: ours("BullMq"),
  finished: async ({ queue }) =>
    (await queue.getJobCountByTypes("wait", "active", "paused", "prioritized")) === 0,
  recorded: recorded("bench.attempts")
}

export const contestants = [
  posthorn,
  graphile("graphile", "graphile-worker, tuned", "tuned"),
  graphile("graphile-usual", "graphile-worker, as usually written", "usual"),
  boss,
  bull,
  loop
]
