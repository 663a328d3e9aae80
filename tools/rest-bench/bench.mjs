/**
 * Requests per second of an authenticated list of 50 deliveries, relative to Fastify in the same run.
 *
 *   node tools/rest-bench/bench.mjs [--rounds 3] [--seconds 5] [--before build/posthorn.mjs of another state]
 *
 * Three servers over one database: Posthorn (`posthorn serve`, all limits on), Fastify with the same SQL and token
 * check, and Fastify answering the same rows from memory, without any query. `--before` adds a fourth, over a database of its
 * own: another bundle of Posthorn. They take turns, so that a noisy machine hits all alike; what counts is the median of the
 * rounds' ratios. CPU is that of the server's process, and of all of PostgreSQL's. DATABASE_URL names a server on which it may
 * create databases; without it an embedded one is started. Exits 1 when Posthorn is below 0.7 of Fastify with the same work.
 */
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import autocannon from "autocannon"
import pg from "pg"

const BAR = 0.7
const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, "..", "..")
const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? fallback : process.argv[at + 1]
}
const rounds = Number(option("rounds", 3))
const seconds = Number(option("seconds", 5))
const before = option("before")

const children = []
const start = (name, args, env) => {
  // Young generation as in Posthorn's image, for all alike.
  const child = spawn(process.execPath, ["--max-semi-space-size=32", ...args], {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "inherit"]
  })
  child.once("exit", (code) => code && console.error(`${name} ended with ${code}`))
  children.push(child)
  return child
}

const until = async (what, check) => {
  for (
    const deadline = Date.now() + 60_000;
    Date.now() < deadline;
    await new Promise((done) => setTimeout(done, 100))
  ) {
    if (await check().catch(() => false)) return
  }
  throw new Error(`${what} did not come up within 60 s`)
}

/** Of a process: its parent, and its CPU in milliseconds, with that of those that it has outlived. Undefined when it is gone. */
const statOf = (pid) => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1].split(" ").map(Number)
    return { parent: fields[1], own: (fields[11] + fields[12]) * 10, reaped: (fields[13] + fields[14]) * 10 }
  } catch {
    return undefined
  }
}

const parentOf = (pid) => statOf(pid)?.parent

let database

/** The database server that DATABASE_URL names, or a throw-away one. */
const databaseServer = () => {
  if (process.env.DATABASE_URL !== undefined) return process.env.DATABASE_URL
  const child = spawn(
    join(root, "node_modules", ".bin", "tsx"),
    ["packages/testkit/bin/throwaway-postgres.ts"],
    {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"]
    }
  )
  database = child
  return new Promise((resolve) => child.stdout.once("data", (text) => resolve(text.toString().trim())))
}

const server = await databaseServer()

const admin = new pg.Client({ connectionString: server })
await admin.connect()
const databases = []
const createDatabase = async () => {
  const name = `rest_bench_${randomBytes(4).toString("hex")}`
  await admin.query(`create database ${name}`)
  databases.push(name)
  return Object.assign(new URL(server), { pathname: `/${name}` }).href
}

/** The pid of PostgreSQL's first process; undefined when it runs elsewhere. */
const postmaster = await admin
  .query("select pg_read_file('postmaster.pid') as pid, pg_backend_pid() as own")
  .then(({ rows: [{ own, pid }] }) =>
    parentOf(own) === Number.parseInt(pid, 10) ? Number.parseInt(pid, 10) : undefined
  )
  .catch(() => undefined)

const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

const SLUG = "bench"

const asking = (origin) => async (method, path, token, body) => {
  const answer = await fetch(`${origin}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) })
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

const seed = async (ask, operatorToken) => {
  await ask("POST", "/workspaces", operatorToken, { slug: SLUG, name: "Bench" })
  const { token } = await ask("POST", `/workspaces/${SLUG}/api-tokens`, operatorToken, {
    name: "bench",
    scopes: ["admin"]
  })
  const { id } = await ask("POST", `/workspaces/${SLUG}/webhooks`, token, {
    url: "https://example.com/hook",
    eventTypes: ["*"]
  })
  for (let number = 0; number < 200; number++) {
    await ask("POST", `/workspaces/${SLUG}/events`, token, {
      eventType: "invoice.paid",
      payload: { invoice: number, amount: 1299, currency: "EUR", customer: "cus_0123456789" }
    })
  }
  return { token, endpoint: id }
}

const pathOf = (endpoint) => `/workspaces/${SLUG}/webhooks/${endpoint}/deliveries?limit=50`

/** `posthorn serve` of this bundle over a database of its own, with 200 deliveries. */
const openPosthorn = async (name, entry) => {
  const operatorToken = randomBytes(32).toString("hex")
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const databaseUrl = await createDatabase()
  const environment = {
    DATABASE_URL: databaseUrl,
    OPERATOR_TOKEN: operatorToken,
    ENCRYPTION_KEY: randomBytes(32).toString("base64"),
    PORT: String(port),
    RATE_LIMIT_REST_READ: "900000000/60 seconds",
    RATE_LIMIT_EVENT_PUBLISH: "900000000/60 seconds",
    LOG_LEVEL: "error"
  }
  const migration = start("migrate", [entry, "migrate"], environment)
  await new Promise((done) => migration.once("exit", done))
  const profile = process.argv.includes("--cpu-prof")
    ? ["--cpu-prof", "--cpu-prof-dir=/tmp/posthorn-prof"]
    : []
  const child = start(name, [...profile, entry, "serve"], environment)
  await until(name, () => fetch(`${origin}/health/ready`).then((answer) => answer.ok))
  const { endpoint, token } = await seed(asking(origin), operatorToken)
  return { name, child, url: `${origin}${pathOf(endpoint)}`, databaseUrl, endpoint, token }
}

const openFastify = async (name, mode, { databaseUrl, endpoint, token }) => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}${pathOf(endpoint)}`
  const child = start(mode, [join(here, "fastify.mjs")], {
    DATABASE_URL: databaseUrl,
    ENDPOINT: endpoint,
    MODE: mode,
    PORT: String(port),
    TOKEN: token
  })
  await until(mode, () =>
    fetch(url, { headers: { authorization: `Bearer ${token}` } }).then((answer) => answer.ok)
  )
  return { name, child, url, token }
}

/** Processor time a process has used so far, in milliseconds; where there is no /proc it stays 0. */
const used = ({ pid }) => statOf(pid)?.own ?? 0

/** The same of all of PostgreSQL. */
const usedByDatabase = () => {
  if (postmaster === undefined) return Number.NaN
  const top = statOf(postmaster)
  let total = top.own + top.reaped
  for (const name of readdirSync("/proc")) {
    const child = /^\d+$/.test(name) ? statOf(name) : undefined
    if (child?.parent === postmaster) total += child.own + child.reaped
  }
  return total
}

const fire = async ({ child, duration, token, url }) => {
  const [server, database] = [used(child), usedByDatabase()]
  const result = await autocannon({
    url,
    connections: 32,
    duration,
    headers: { authorization: `Bearer ${token}` }
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} refused, ${result.errors} broken`)
  const each = (milliseconds) => (milliseconds * 1000) / result.requests.total
  return {
    rate: result.requests.average,
    micros: each(used(child) - server),
    ofDatabase: each(usedByDatabase() - database)
  }
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]

try {
  const posthorn = await openPosthorn("Posthorn", join(root, "build", "posthorn.mjs"))
  const contestants = [
    posthorn,
    await openFastify("Fastify, same SQL", "sql", posthorn),
    await openFastify("Fastify, from memory", "memory", posthorn)
  ]
  const bodies = await Promise.all(
    contestants.map(({ token, url }) =>
      fetch(url, { headers: { authorization: `Bearer ${token}` } }).then((answer) => answer.json())
    )
  )
  if (new Set(bodies.map((body) => JSON.stringify(body))).size !== 1)
    throw new Error("The servers do not answer the same JSON")
  if (before !== undefined) contestants.push(await openPosthorn("Posthorn before", resolve(before)))

  for (const contestant of contestants) await fire({ ...contestant, duration: 3 })
  const runs = new Map(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? contestants : contestants.toReversed()
    for (const contestant of order)
      runs.get(contestant.name).push(await fire({ ...contestant, duration: seconds }))
  }
  const yardstick = runs.get("Fastify, same SQL")
  const medianOf = (all, what) => median(all.map(what)).toFixed(0).padStart(6)
  const ratioOf = (all) => median(all.map(({ rate }, round) => rate / yardstick[round].rate))
  const bytes = JSON.stringify(bodies[0]).length
  console.log(
    `authenticated list of ${bodies[0].items.length} deliveries, ${bytes} bytes; 32 connections; ${rounds} rounds of ${seconds} s`
  )
  for (const [name, all] of runs) {
    const rate = medianOf(all, (run) => run.rate)
    const micros = medianOf(all, (run) => run.micros)
    const ofDatabase = medianOf(all, (run) => run.ofDatabase)
    const each = all.map((run) => run.rate.toFixed(0)).join(", ")
    console.log(
      `${name.padEnd(22)} ${rate} req/s; CPU each: ${micros} us of Node, ${ofDatabase} of PostgreSQL; ${ratioOf(all).toFixed(2)} of Fastify, same SQL   (${each})`
    )
  }
  const ratio = ratioOf(runs.get("Posthorn"))
  console.log(
    `${ratio >= BAR ? "met" : "NOT met"}: ${ratio.toFixed(2)} of Fastify with the same work; the bar is ${BAR}`
  )
  if (ratio < BAR) process.exitCode = 1
  posthorn.child.kill("SIGTERM")
  await new Promise((done) => posthorn.child.once("exit", done))
} finally {
  const gone = children.map((child) => child.exitCode ?? new Promise((done) => child.once("exit", done)))
  for (const child of children) child.kill()
  await Promise.all(gone)
  for (const name of databases) await admin.query(`drop database if exists ${name} with (force)`)
  await admin.end()
  database?.kill()
}
