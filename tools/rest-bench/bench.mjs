/**
 * Requests per second of an authenticated list of 50 deliveries, relative to Fastify in the same run.
 *
 *   node tools/rest-bench/bench.mjs [--rounds 3] [--seconds 5]
 *
 * Three servers over one database: Posthorn (`posthorn serve`, all limits on), Fastify with the same SQL and token
 * check, and Fastify answering the same rows from memory, without any query. They take turns, so that a noisy machine
 * hits all alike; what counts is the median of the rounds' ratios. DATABASE_URL names a server on which it may create a database;
 * without it an embedded one is started. Exits 1 when Posthorn is below 0.6 of Fastify with the same work.
 */
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { createServer } from "node:net"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import autocannon from "autocannon"
import pg from "pg"

const BAR = 0.6
const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, "..", "..")
const option = (name, fallback) => {
  const at = process.argv.indexOf(`--${name}`)
  return at < 0 ? fallback : Number(process.argv[at + 1])
}
const rounds = option("rounds", 3)
const seconds = option("seconds", 5)

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

const name = `rest_bench_${randomBytes(4).toString("hex")}`
const databaseUrl = Object.assign(new URL(server), { pathname: `/${name}` }).href
const admin = new pg.Client({ connectionString: server })
await admin.connect()
await admin.query(`create database ${name}`)

const freePort = () =>
  new Promise((resolve) => {
    const probe = createServer()
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

const operatorToken = randomBytes(32).toString("hex")
const ownPort = await freePort()
const POSTHORN = `http://127.0.0.1:${ownPort}`
const entry = join(root, "build", "posthorn.mjs")
const environment = {
  DATABASE_URL: databaseUrl,
  OPERATOR_TOKEN: operatorToken,
  ENCRYPTION_KEY: randomBytes(32).toString("base64"),
  PORT: String(ownPort),
  RATE_LIMIT_REST_READ: "900000000/60 seconds",
  RATE_LIMIT_EVENT_PUBLISH: "900000000/60 seconds",
  LOG_LEVEL: "error"
}

const ask = async (method, path, token, body) => {
  const answer = await fetch(`${POSTHORN}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) })
  })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

const seed = async () => {
  await ask("POST", "/workspaces", operatorToken, { slug: "bench", name: "Bench" })
  const { token } = await ask("POST", "/workspaces/bench/api-tokens", operatorToken, {
    name: "bench",
    scopes: ["admin"]
  })
  const { id } = await ask("POST", "/workspaces/bench/webhooks", token, {
    url: "https://example.com/hook",
    eventTypes: ["*"]
  })
  for (let number = 0; number < 200; number++) {
    await ask("POST", "/workspaces/bench/events", token, {
      eventType: "invoice.paid",
      payload: { invoice: number, amount: 1299, currency: "EUR", customer: "cus_0123456789" }
    })
  }
  return { token, endpoint: id }
}

/** Processor time a process has used so far, in milliseconds; where there is no /proc it stays 0. */
const used = ({ pid }) => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ")
    return (Number(fields[11]) + Number(fields[12])) * 10
  } catch {
    return 0
  }
}

const fire = async ({ child, duration, token, url }) => {
  const before = used(child)
  const result = await autocannon({
    url,
    connections: 32,
    duration,
    headers: { authorization: `Bearer ${token}` }
  })
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${url}: ${result.non2xx} refused, ${result.errors} broken`)
  return {
    rate: result.requests.average,
    micros: ((used(child) - before) * 1000) / result.requests.total
  }
}

const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)]

try {
  const migration = start("migrate", [entry, "migrate"], environment)
  await new Promise((done) => migration.once("exit", done))
  const profile = process.argv.includes("--cpu-prof")
    ? ["--cpu-prof", "--cpu-prof-dir=/tmp/posthorn-prof"]
    : []
  const posthorn = start("posthorn", [...profile, entry, "serve"], environment)
  await until("posthorn", () => fetch(`${POSTHORN}/health/ready`).then((answer) => answer.ok))
  const { endpoint, token } = await seed()
  const path = `/workspaces/bench/webhooks/${endpoint}/deliveries?limit=50`
  const contestants = [{ name: "Posthorn", url: `${POSTHORN}${path}`, child: posthorn }]
  for (const mode of ["sql", "memory"]) {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}${path}`
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
    contestants.push({ name: mode === "sql" ? "Fastify, same SQL" : "Fastify, from memory", url, child })
  }
  const bodies = await Promise.all(
    contestants.map(({ url }) =>
      fetch(url, { headers: { authorization: `Bearer ${token}` } }).then((answer) => answer.json())
    )
  )
  if (new Set(bodies.map((body) => JSON.stringify(body))).size !== 1)
    throw new Error("The servers do not answer the same JSON")

  for (const { child, url } of contestants) await fire({ child, url, token, duration: 3 })
  const runs = new Map(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? contestants : contestants.toReversed()
    for (const { child, name, url } of order)
      runs.get(name).push(await fire({ child, url, token, duration: seconds }))
  }
  const ratioTo = (name) =>
    median(runs.get("Posthorn").map(({ rate }, round) => rate / runs.get(name)[round].rate))
  const bytes = JSON.stringify(bodies[0]).length
  console.log(
    `authenticated list of ${bodies[0].items.length} deliveries, ${bytes} bytes; 32 connections; ${rounds} rounds of ${seconds} s`
  )
  for (const [name, all] of runs) {
    const rate = median(all.map((run) => run.rate))
      .toFixed(0)
      .padStart(6)
    const micros = median(all.map((run) => run.micros))
      .toFixed(0)
      .padStart(5)
    const each = all.map((run) => run.rate.toFixed(0)).join(", ")
    console.log(
      `${name.padEnd(22)} ${rate} req/s ${micros} us of processor each   Posthorn is ${ratioTo(name).toFixed(2)} of it   (${each})`
    )
  }
  const ratio = ratioTo("Fastify, same SQL")
  console.log(
    `${ratio >= BAR ? "met" : "NOT met"}: ${ratio.toFixed(2)} of Fastify with the same work; the bar is ${BAR}`
  )
  if (ratio < BAR) process.exitCode = 1
  posthorn.kill("SIGTERM")
  await new Promise((done) => posthorn.once("exit", done))
} finally {
  const gone = children.map((child) => child.exitCode ?? new Promise((done) => child.once("exit", done)))
  for (const child of children) child.kill()
  await Promise.all(gone)
  await admin.query(`drop database if exists ${name} with (force)`)
  await admin.end()
  database?.kill()
}
