/**
 * The process that publishes: a number of connections, each with one transaction or request at a time. Closed loop, or
 * paced when `rate` is given. A process of its own, so that its CPU and Posthorn's are not mixed up.
 */
import { now, sleep } from "../Machine.mjs"
import { quantile } from "../Run.mjs"
import { eventOf, lone, publishers } from "./Publishers.mjs"
import { openRequests } from "./Requests.mjs"

let connections = []
let serial = 0

const openOne = (config) =>
  config.origin
    ? openRequests(config)
    : [...publishers, lone].find(({ name }) => name === config.name).open(config.url, config)

const open = async (config) => {
  connections = await Promise.all(Array.from({ length: config.connections }, () => openOne(config)))
  return connections.map(({ pid }) => pid)
}

/** Until `end`; each connection waits for its last answer before it goes on. */
const drive = async (connection, { kinds, pause }, end, times) => {
  for (;;) {
    const start = now()
    if (start >= end) return
    serial += 1
    await connection.run(serial, eventOf(serial, kinds, start))
    const done = now()
    times.push(done - start)
    const rest = pause - (done - start)
    if (rest > 0) await sleep(rest)
  }
}

const run = async ({ kinds, rate, seconds }) => {
  const times = []
  const start = now()
  const pause = rate ? (connections.length * 1000) / rate : 0
  await Promise.all(
    connections.map((connection) => drive(connection, { kinds, pause }, start + seconds * 1000, times))
  )
  const took = (now() - start) / 1000
  return {
    count: times.length,
    seconds: took,
    rate: times.length / took,
    p50: quantile(times, 0.5),
    p99: quantile(times, 0.99)
  }
}

const close = async () => {
  await Promise.all(connections.map((connection) => connection.close()))
  connections = []
}

const answers = { open, run, close }

process.on("message", async ({ ask, config }) => {
  try {
    process.send({ answer: (await answers[ask](config)) ?? null })
  } catch (error) {
    process.send({ error: error.stack })
  }
})
process.on("disconnect", () => process.exit(0))
