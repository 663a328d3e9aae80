/** Publishing over REST: `posthorn serve` beside Fastify with one insert for each request. */
import { randomBytes } from "node:crypto"
import { fileURLToPath } from "node:url"
import { now, until } from "../Machine.mjs"
import { openPosthorn, openServer } from "../RestServer.mjs"
import { endWorker, okEndpoints, startWorker, withContext } from "../Run.mjs"
import { measure } from "./Measure.mjs"
import { createApplication, lone } from "./Publishers.mjs"

const KINDS = 50
const BATCH = 100
const CONNECTIONS = [1, 16, 64]
/**
 * A server compiles its code in the first seconds: Posthorn takes half the CPU for a request after 10,000 of them. They share
 * statements, so what makes a statement is warmed up by single ones.
 */
const WARM_UPS = [
  { connections: 64, requests: 10_000, seconds: 6 },
  { connections: 1, requests: 3000, seconds: 5 }
]

const options = (bench) => ({
  endpoints: okEndpoints(bench.sink, KINDS),
  tag: "rest",
  fill: createApplication
})

const startPosthorn = async (context) => {
  const server = await openPosthorn(context)
  return { ...server, token: await server.tokenFor("bench") }
}

const startFastify = async ({ url }) => {
  const token = randomBytes(32).toString("hex")
  const file = fileURLToPath(new URL("./FastifyServer.mjs", import.meta.url))
  return { ...(await openServer([file], { DATABASE_URL: url, TOKEN: token }, "/")), token }
}

export const doors = [
  { ...lone, name: "rest", label: "POST events, Posthorn", open: startPosthorn },
  {
    name: "fastify",
    label: "POST events, Fastify, one insert",
    schema: () => async () => undefined,
    open: startFastify
  }
]

const cells = (bench, producer, door, delivering, { seconds }, emit) =>
  withContext(bench, door, options(bench), async (context) => {
    const worker = delivering ? startWorker(door, context) : null
    const { child, origin, token } = await door.open(context)
    const settled = () =>
      worker && until(() => door.finished(context), "the worker delivers", { every: 20, within: 300_000 })
    const config = (connections, batch, length) => ({
      origin,
      token,
      connections,
      batch,
      kinds: KINDS,
      seconds: length
    })
    const run = (connections, batch, length) =>
      measure(bench, producer, config(connections, batch, length), {
        events: batch,
        nodePids: [child.pid],
        settled
      })
    for (const { connections, requests, seconds: most } of WARM_UPS) {
      const began = now()
      for (let warm = 0; warm < requests && now() - began < most * 1000; ) {
        warm += (await run(connections, 1, 1)).rate
      }
    }
    const mode = delivering ? "delivering" : "alone"
    for (const connections of CONNECTIONS) emit(door, connections, mode, await run(connections, 1, seconds))
    const many = await run(16, BATCH, seconds)
    emit({ name: `${door.name}-batch`, label: `${door.label}, ${BATCH} each` }, 16, mode, {
      ...many,
      rate: many.rate * BATCH
    })
    await endWorker(child, process.env.BENCH_SERVE_OPTIONS ? "SIGTERM" : "SIGKILL")
    if (worker) await endWorker(worker)
  })

/** One repetition. */
export const restCells = async (bench, producer, rep, given, emit) => {
  const wanted = doors.filter(({ name }) => (given.only ?? [name]).includes(name))
  for (let turn = 0; turn < wanted.length; turn++) {
    const door = wanted[(turn + rep) % wanted.length]
    await cells(bench, producer, door, false, given, emit)
    if (door.name === "rest") await cells(bench, producer, door, true, given, emit)
  }
}
