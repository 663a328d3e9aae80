/** Servers that are asked over HTTP, each a process of its own: `posthorn serve` without rate limits, and others. */
import { spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { posthornFile } from "./Bundle.mjs"
import { encryptionKey, YOUNG_GENERATION } from "./Contestants.mjs"
import { until } from "./Machine.mjs"
import { startWorker } from "./Run.mjs"
import { freePort } from "./Servers.mjs"

const UNLIMITED = "900000000/60 seconds"

/** Answers at `path` when it is ready. */
export const openServer = async (args, env, path) => {
  const port = await freePort()
  const origin = `http://127.0.0.1:${port}`
  const flags = (process.env.BENCH_SERVE_OPTIONS ?? "").split(" ").filter(Boolean)
  const child = startWorker(
    {
      start: () =>
        spawn(process.execPath, [YOUNG_GENERATION, ...flags, ...args], {
          env: { ...process.env, ...env, PORT: `${port}` },
          stdio: ["ignore", "ignore", "inherit"]
        })
    },
    null
  )
  const answers = () =>
    fetch(`${origin}${path}`).then(
      () => true,
      () => false
    )
  await until(answers, "the server answers", { every: 50, within: 30_000 })
  return { child, origin }
}

/** `call` asks as the operator; `tokenFor` makes a token that may do everything in a workspace. */
export const openPosthorn = async ({ url }) => {
  const operatorToken = randomBytes(32).toString("hex")
  const server = await openServer(
    [posthornFile, "serve"],
    {
      DATABASE_URL: url,
      ENCRYPTION_KEY: encryptionKey,
      OPERATOR_TOKEN: operatorToken,
      RATE_LIMIT_EVENT_PUBLISH: UNLIMITED,
      RATE_LIMIT_REST_READ: UNLIMITED,
      RATE_LIMIT_REST_WRITE: UNLIMITED,
      LOG_LEVEL: "error"
    },
    "/health/ready"
  )
  const call = async (method, path, body) => {
    const response = await fetch(`${server.origin}${path}`, {
      method,
      headers: { authorization: `Bearer ${operatorToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return text === "" ? null : JSON.parse(text)
  }
  const tokenFor = async (slug) =>
    (await call("POST", `/workspaces/${slug}/api-tokens`, { name: "bench", scopes: ["admin"] })).token
  return { ...server, call, tokenFor }
}
