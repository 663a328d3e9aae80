/**
 * Runs an installation from what the image holds, with its environment, as its user: a throw-away PostgreSQL with the two roles
 * of docker/roles.sql, `migrate` as the owner, then `serve` and `work` as the other, until both are ready; then stops them.
 *
 * As root it becomes the image's user, who can write nowhere in there. What an engine adds (a file system that is read-only
 * everywhere, no capabilities) is not there.
 */
import { spawn, spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { createServer } from "node:net"
import { join } from "node:path"
import { root } from "./install.mjs"

const { Client } = createRequire(join(root, "packages", "cli", "package.json"))("pg")

const USER = process.getuid() === 0 ? { uid: 1000, gid: 1000 } : {}
const PATIENCE_MS = 30_000

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

/** Resolves with the first line it prints. */
const startPostgres = () => {
  const script = join(root, "packages", "testkit", "bin", "throwaway-postgres.ts")
  const child = spawn(process.execPath, ["--import", "tsx", script], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"]
  })
  return new Promise((resolve, reject) => {
    child.stdout.once("data", (line) => resolve({ child, url: String(line).trim() }))
    child.once("exit", () => reject(new Error("the throw-away PostgreSQL did not start")))
  })
}

/** What psql would make of docker/roles.sql. */
const makeRoles = async (url, passwords) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  const text = readFileSync(join(root, "docker", "roles.sql"), "utf8").replace(/^\\.*$/gm, "")
  await client.query(text.replace(/:'(\w+)_password'/g, (_, role) => `'${passwords[role]}'`))
  await client.end()
}

const as = (url, user, password) => Object.assign(new URL(url), { username: user, password }).href

const exitOf = (child) => new Promise((resolve) => child.once("exit", (code) => resolve(code)))

/** How long until it answers there, or undefined. */
const readyAfter = async (child, url) => {
  const began = Date.now()
  while (Date.now() - began < PATIENCE_MS && child.exitCode === null) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return Date.now() - began
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return undefined
}

/** What was tried, and whether it held. */
export const tryImage = async (folder, environment, [healthCommand, ...healthArgs]) => {
  const tried = []
  const { child: postgres, url } = await startPostgres()
  const [port, metricsPort] = [await freePort(), await freePort()]
  const common = {
    PATH: process.env.PATH,
    ...environment,
    HOST: "127.0.0.1",
    PORT: String(port),
    LOG_FORMAT: "json"
  }
  const run = {
    ...common,
    DATABASE_URL: as(url, "posthorn_run", "run"),
    ENCRYPTION_KEY: Buffer.alloc(32, 5).toString("base64")
  }
  const posthorn = (role, env) =>
    spawn(process.execPath, [join(folder, "posthorn.mjs"), role], {
      ...USER,
      cwd: folder,
      env,
      stdio: ["ignore", "ignore", "inherit"]
    })
  const children = []
  try {
    await makeRoles(url, { owner: "owner", run: "run" })
    const began = Date.now()
    const migrated = await exitOf(
      posthorn("migrate", { ...common, DATABASE_URL: as(url, "posthorn_owner", "owner") })
    )
    tried.push([`migrate, as the owner, ends well after ${Date.now() - began} ms`, migrated === 0])

    const serve = posthorn("serve", { ...run, OPERATOR_TOKEN: "operator-token-of-the-image-trial" })
    const work = posthorn("work", { ...run, METRICS_PORT: String(metricsPort) })
    children.push(serve, work)
    const [serving, working] = await Promise.all([
      readyAfter(serve, `http://127.0.0.1:${port}/health/ready`),
      readyAfter(work, `http://127.0.0.1:${metricsPort}/health/ready`)
    ])
    tried.push([`serve, as the image's user, is ready after ${serving} ms`, serving !== undefined])
    tried.push([`work, as the image's user, is ready after ${working} ms`, working !== undefined])
    const { status } = spawnSync(healthCommand, healthArgs, { ...USER, env: common })
    tried.push(["the image's health check finds it live", status === 0])
    const page = await fetch(`http://127.0.0.1:${port}/console/`)
    tried.push(["the console is in it", page.ok && (await page.text()).includes("<script")])

    for (const [role, child] of [
      ["serve", serve],
      ["work", work]
    ]) {
      const over = exitOf(child)
      const from = Date.now()
      child.kill("SIGTERM")
      const code = await over
      tried.push([`${role} stops when it is told to, after ${Date.now() - from} ms`, code === 0])
    }
  } finally {
    for (const child of children) child.kill("SIGKILL")
    const over = exitOf(postgres)
    postgres.kill("SIGTERM")
    await over
  }
  return tried
}
