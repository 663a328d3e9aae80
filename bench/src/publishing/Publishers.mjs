/**
 * The ways to publish from SQL that are compared. Each runs the application's own transaction, which inserts one order,
 * and publishes in it. Where the whole transaction is SQL it goes to PostgreSQL as one message of prepared statements:
 * that leaves the client, which the publishers share, the least part in the figures, so the ratios are the harshest.
 */
import { contestants, payload } from "../Contestants.mjs"
import { connect } from "../Servers.mjs"

const APPLICATION = `
  create schema app;
  create table app.orders (
    id bigint generated always as identity primary key, customer text not null, amount numeric not null,
    note text not null, created_at timestamptz not null default now()
  );
  create index on app.orders (customer, created_at);
  create table app.outbox (
    id bigint generated always as identity primary key, event_type text not null, payload json not null,
    created_at timestamptz not null default now()
  )`

export const createApplication = async (url) => {
  const client = await connect(url)
  await client.query(APPLICATION)
  await client.end()
}

const ORDER = `prepare app_order(text, numeric, text) as
  insert into app.orders (customer, amount, note) values ($1, $2, $3)`
const order = (n) =>
  `execute app_order('customer-${n % 5000}', ${(n % 900) + 0.5}, 'Two of these, one of those')`

/** One statement beside the order, in the same message and transaction. `event`: type and body. */
const inSql = (prepared, call) => async (url) => {
  const client = await connect(url)
  await client.query(ORDER)
  if (prepared) await client.query(prepared)
  const { rows } = await client.query("select pg_backend_pid() as pid")
  return {
    pid: rows[0].pid,
    run: (n, event) => client.query(`begin; ${order(n)}; ${call ? `${call(event)};` : ""} commit`),
    close: () => client.end()
  }
}

const PUBLISH = "prepare publish(text, json) as select posthorn.publish('bench', $1, $2)"
const publish = ({ eventType, body }) => `execute publish('${eventType}', '${body}')`

/** A publish in a transaction of its own, beside nothing. */
const alone = async (url) => {
  const client = await connect(url)
  await client.query(PUBLISH)
  const { rows } = await client.query("select pg_backend_pid() as pid")
  return {
    pid: rows[0].pid,
    run: (_, event) => client.query(publish(event)),
    close: () => client.end()
  }
}

const OUTBOX = "prepare outbox(text, json) as insert into app.outbox (event_type, payload) values ($1, $2)"
const JOB = "prepare job(json) as select graphile_worker.add_job('deliver', $1)"

/** pg-boss makes its own statement for each job, so its transaction takes several messages. */
const boss = async (url) => {
  const { PgBoss } = await import("pg-boss")
  const client = await connect(url)
  await client.query(ORDER)
  const { rows } = await client.query("select pg_backend_pid() as pid")
  const instance = new PgBoss({
    connectionString: url,
    max: 1,
    supervise: false,
    schedule: false,
    migrate: false
  })
  instance.on("error", () => undefined)
  await instance.start()
  const db = { executeSql: (text, values) => client.query(text, values) }
  return {
    pid: rows[0].pid,
    run: async (n, { body, eventType }) => {
      await client.query(`begin; ${order(n)}`)
      await instance.send("deliver", { eventType, payload: JSON.parse(body) }, { db })
      await client.query("commit")
    },
    close: async () => {
      await instance.stop({ graceful: false })
      await client.end()
    }
  }
}

/** No transaction spans both stores: the job is added once the order is committed. */
const bull = async (url, { redisUrl }) => {
  const { Queue } = await import("bullmq")
  const { default: Redis } = await import("ioredis")
  const redis = new Redis(redisUrl, { maxRetriesPerRequest: null })
  const queue = new Queue("deliver", { connection: redis })
  const client = await connect(url)
  await client.query(ORDER)
  const { rows } = await client.query("select pg_backend_pid() as pid")
  return {
    pid: rows[0].pid,
    run: async (n, { body, eventType }) => {
      await client.query(order(n))
      await queue.add("deliver", { eventType, payload: JSON.parse(body) })
    },
    close: async () => {
      await queue.close()
      redis.disconnect()
      await client.end()
    }
  }
}

const known = (name) => contestants.find((one) => one.name === name)
const empty = () => async () => undefined

export const publishers = [
  { name: "app", label: "the application's transaction", schema: empty, open: inSql(null, null) },
  {
    name: "outbox",
    label: "with a plain outbox insert",
    schema: empty,
    open: inSql(OUTBOX, ({ body, eventType }) => `execute outbox('${eventType}', '${body}')`)
  },
  { ...known("posthorn"), label: "with posthorn.publish", open: inSql(PUBLISH, publish) },
  {
    ...known("graphile"),
    label: "with graphile_worker.add_job",
    open: inSql(JOB, ({ body, eventType }) => `execute job('{"eventType":"${eventType}","payload":${body}}')`)
  },
  { ...known("pg-boss"), prepare: undefined, dispose: undefined, label: "with pg-boss send", open: boss },
  {
    ...known("bullmq"),
    prepare: undefined,
    dispose: undefined,
    label: "then BullMQ add",
    open: bull
  }
]

/** Not compared: what one `posthorn.publish` costs by itself. */
export const lone = { ...known("posthorn"), name: "alone", label: "posthorn.publish alone", open: alone }

export const eventOf = (n, kinds, sent) => ({ eventType: `bench.e${n % kinds}`, body: payload(n, sent) })
