/**
 * Posthorn as it is installed: `serve` and `work` of a checkout's production bundle as processes, with the image's settings
 * for Node. It is used only through its public interfaces (commands, REST, posthorn.publish), so this benchmark can measure
 * any checkout.
 */
import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { freePort, start, until } from "./Machine.mjs"

const here = fileURLToPath(new URL("..", import.meta.url))

/** Bundles a checkout into a folder, so that edits made while the benchmark runs change nothing. */
export const bundle = (checkout, folder) => {
  const { status } = spawnSync(
    process.execPath,
    [join(here, "scripts", "bundle.mjs"), "--from", checkout, "--out", folder],
    { stdio: "inherit" }
  )
  if (status !== 0) throw new Error(`${checkout} could not be bundled`)
}

/** The flags that the image sets for Node. */
const imageSettings = (checkout) => {
  const text = readFileSync(join(checkout, "docker", "Dockerfile"), "utf8")
  return Object.fromEntries(
    ["NODE_OPTIONS", "UV_THREADPOOL_SIZE"].flatMap((name) => {
      const [, value] = new RegExp(`\\b${name}=(\\S+)`).exec(text) ?? []
      return value === undefined ? [] : [[name, value]]
    })
  )
}

const LIMITS = ["REST_READ", "REST_WRITE", "EVENT_PUBLISH", "ASSISTANT", "MCP", "AUTH_FAILURE"]

const settingsOf = (checkout, url) => ({
  ...imageSettings(checkout),
  DATABASE_URL: url,
  ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
  DELIVERY_ALLOWED_TARGETS: "127.0.0.1",
  DELIVERY_ALLOW_HTTP: "true",
  LOG_LEVEL: "error"
})

const answers = (url) =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false
  )

const startServe = async (file, settings, operatorToken) => {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const unlimited = Object.fromEntries(LIMITS.map((name) => [`RATE_LIMIT_${name}`, "off"]))
  const own = { ...unlimited, PORT: String(port), OPERATOR_TOKEN: operatorToken, DRAIN_SECONDS: "0" }
  const serve = start([file, "serve"], { ...settings, ...own })
  await until(() => answers(`${origin}/health/ready`), "serve is ready", { every: 50 })
  return { serve, origin }
}

const callerOf = (origin, token) => async (method, path, body) => {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
  const answer = await fetch(`${origin}${path}`, { method, headers, body: body && JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
  return answer.json()
}

/** `endpoints` is a list of `{ url, eventTypes }`. */
const open = async ({ checkout, folder }, url, endpoints) => {
  const file = join(folder, "posthorn.mjs")
  const settings = settingsOf(checkout, url)
  const migrated = await start([file, "migrate"], settings).ended
  if (migrated !== 0) throw new Error(`posthorn migrate of ${checkout} failed`)
  const operatorToken = randomBytes(32).toString("hex")
  const { origin, serve } = await startServe(file, settings, operatorToken)
  const operator = callerOf(origin, operatorToken)
  await operator("POST", "/workspaces", { slug: "bench", name: "Bench" })
  const { token } = await operator("POST", "/workspaces/bench/api-tokens", { name: "b", scopes: ["admin"] })
  const call = callerOf(origin, token)
  const made = []
  for (const endpoint of endpoints) made.push(await call("POST", "/workspaces/bench/webhooks", endpoint))
  const isSettled = async () =>
    (await call("GET", "/workspaces/bench/webhooks/deliveries?status=pending&limit=1")).items.length === 0
  return {
    origin,
    token,
    serve,
    endpoints: made,
    startWork: () => start([file, "work"], settings),
    /** Waits until every delivery is recorded. */
    settled: () => until(isSettled, "everything is recorded", { every: 50, within: 300_000 })
  }
}

/** A contestant of the benchmark: a name, `open`, and a way to publish from SQL. */
export const posthorn = (name, checkout, folder) => ({
  name,
  open: (url, endpoints) => open({ checkout, folder }, url, endpoints),
  /** One event in a transaction of its own. */
  publishSql: (eventType, payload) => ({
    name: "publish",
    text: "select posthorn.publish('bench', $1, $2::json)",
    values: [eventType, payload]
  }),
  /** Many events in one transaction. */
  publishAll: (eventTypes, payloads) => ({
    text: `select count(*) from posthorn.publish_events('bench', $1::text[], $2::json[], array_fill(null::text, array[$3::int]))`,
    values: [eventTypes, payloads, eventTypes.length]
  })
})
