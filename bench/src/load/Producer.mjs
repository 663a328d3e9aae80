/**
 * The process that publishes in a long run: some connections over REST, some from SQL, each with one event at a time, in
 * turn for all workspaces. Paced (each connection has its own timetable, and catches up after a wait), or as fast as
 * answers come; held when it is told to. Keeps each event's number and when it was committed, and how long each call
 * took, until they are taken.
 */
import { payload } from "../Contestants.mjs"
import { now, sleep } from "../Machine.mjs"
import { openRequests } from "../publishing/Requests.mjs"
import { connect } from "../Servers.mjs"
import { answering } from "./Child.mjs"

/** What is later than that is not made up for. */
const CATCH_UP_MS = 2000

let connections = []
let running = []
let kinds = 1
let serial = 0
let pause = 0
let held = true
let stopping = false
let failed = 0
let lastFailure = null
let committed = []
let times = { rest: [], sql: [] }

const PUBLISH = "prepare publish(text, text, json) as select posthorn.publish($1, $2, $3)"

const openSql = async (url, workspace) => {
  const client = await connect(url)
  await client.query(PUBLISH)
  return {
    door: "sql",
    run: (_, { body, eventType }) =>
      client.query(`execute publish('${workspace}', '${eventType}', '${body}')`),
    close: () => client.end()
  }
}

const openRest = async (origin, { slug, token }) => ({
  door: "rest",
  ...(await openRequests({ origin, token, workspace: slug, batch: 1, kinds }))
})

const publish = async (connection) => {
  const n = serial++
  const began = now()
  try {
    await connection.run(n, { eventType: `bench.e${n % kinds}`, body: payload(n, began) })
  } catch (error) {
    failed += 1
    lastFailure = error.message
    return
  }
  const done = now()
  committed.push(n, done)
  times[connection.door].push(done - began)
}

const drive = async (connection, place) => {
  let due = now() + place * pause
  while (!stopping) {
    if (held) {
      await sleep(5)
      continue
    }
    if (pause > 0) {
      due = Math.max(due + pause, now() - CATCH_UP_MS)
      const wait = due - now()
      if (wait > 0.5) await sleep(wait)
    }
    await publish(connection)
  }
}

const take = () => {
  const taken = {
    committed: Float64Array.from(committed),
    rest: Float64Array.from(times.rest),
    sql: Float64Array.from(times.sql),
    failed,
    lastFailure
  }
  committed = []
  times = { rest: [], sql: [] }
  return taken
}

answering({
  open: async (config) => {
    kinds = config.kinds
    const { origin, url, workspaces } = config
    const of = (n) => workspaces[n % workspaces.length]
    const many = (count, open) => Promise.all(Array.from({ length: count }, (_, n) => open(of(n))))
    connections = [
      ...(await many(config.rest, (workspace) => openRest(origin, workspace))),
      ...(await many(config.sql, ({ slug }) => openSql(url, slug)))
    ]
    running = connections.map((connection, n) => drive(connection, n / connections.length))
  },
  hold: ({ on }) => {
    held = on
  },
  pace: ({ rate }) => {
    pause = (connections.length * 1000) / rate
  },
  take,
  finish: async () => {
    stopping = true
    await Promise.all(running)
    await Promise.all(connections.map((connection) => connection.close()))
    return take()
  }
})
