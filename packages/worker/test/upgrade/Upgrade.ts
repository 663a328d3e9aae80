/**
 * An upgrade as an operator makes it, under load. Programs of an older commit run, the database is migrated beneath them,
 * they are restarted on it, newer ones start beside them, one of each is killed, the older ones stop, and start once more.
 *
 * Checked: no call was refused or unanswered, everything acknowledged was delivered, and the evidence is exact.
 */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { bundleFile, type Environment, makeBundle } from "@posthorn/testkit/Command"
import { freePort } from "@posthorn/testkit/FreePort"
import * as OwnCluster from "@posthorn/testkit/OwnCluster"
import * as Receiver from "@posthorn/testkit/Receiver"
import { untilAsked } from "@posthorn/testkit/Until"
import { Effect, Redacted } from "effect"
import pg from "pg"
import { pause } from "../chaos/Disturbances.ts"
import { Supervised } from "../chaos/Supervised.ts"
import { WRONG } from "../processes/Wrong.ts"
import { call, type Load, makeLoad, OPERATOR_TOKEN, type Server, SLUG } from "./Load.ts"
import { oldBuild } from "./OldBuild.ts"

const READY_MS = 30_000
const CALM_MS = 60_000
const DOWN_MS = 200
const FOR_GOOD_MS = 24 * 3_600_000
const PATHS = ["/ok", "/ok", "/ok", "/flaky"]
const EVERY = 7

export interface Verdict {
  readonly commit: string
  readonly migrated: string
  readonly calls: number
  readonly acknowledged: number
  readonly received: number
  /** Requests beyond the recorded attempts: those that a killed worker had sent. */
  readonly repeated: number
  readonly wrong: ReadonlyArray<string>
  readonly logs: ReadonlyArray<string>
}

const idOf = ({ headers }: Receiver.Received) =>
  headers.find(([name]) => name.toLowerCase() === "webhook-id")?.[1] ?? "a request without an id"

/** Waits at most this long; a timeout shows the log. */
const until = (what: string, ms: number, holds: () => Promise<boolean>, log: ReadonlyArray<string> = []) =>
  untilAsked(holds, (yes) => yes, ms).catch(() => {
    throw new Error([`${what}: not within ${ms / 1_000} s`, ...log].join("\n"))
  })

const answersAt = (url: string) =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false
  )

/** A process, and the URL of its readiness. */
interface Running {
  readonly process: Supervised
  readonly origin: string
}

const commands = (databaseUrl: string) => {
  const environment: Environment = {
    DATABASE_URL: databaseUrl,
    OPERATOR_TOKEN,
    DELIVERY_RETRY_DELAY: "300 millis",
    ...Object.fromEntries(
      ["REST_READ", "REST_WRITE", "ASSISTANT", "MCP", "EVENT_PUBLISH"].map((bucket) => [
        `RATE_LIMIT_${bucket}`,
        "off"
      ])
    )
  }
  const all: Array<Running> = []
  const start = async (name: string, file: string, command: "serve" | "work"): Promise<Running> => {
    const port = String(await Effect.runPromise(freePort))
    const process = new Supervised(name, { file }, command, {
      ...environment,
      ...(command === "serve" ? { PORT: port } : { METRICS_PORT: port })
    })
    const running = { process, origin: `http://127.0.0.1:${port}` }
    all.push(running)
    process.start()
    await ready(name, running)
    return running
  }
  const ready = (name: string, { origin, process }: Running) =>
    until(`${name} is ready`, READY_MS, () => answersAt(`${origin}/health/ready`), process.log)
  /** Until it is gone, and for this long. */
  const end = (name: string, { origin, process }: Running, signal: "SIGKILL" | "SIGTERM", down: number) => {
    process.end(signal, down)
    return until(`${name} stops`, READY_MS, async () => !(await answersAt(`${origin}/health/live`)))
  }
  /** Until it is ready again. */
  const again = async (name: string, running: Running, signal: "SIGKILL" | "SIGTERM") => {
    await end(name, running, signal, DOWN_MS)
    await ready(name, running)
  }
  /** Stops it for good. */
  const leave = (name: string, running: Running) => end(name, running, "SIGTERM", FOR_GOOD_MS)
  const migrate = async (file: string) => {
    const env = { PATH: process.env.PATH, DATABASE_URL: databaseUrl }
    const { stdout } = await promisify(execFile)(process.execPath, [file, "migrate"], { env })
    return stdout.trim().split("\n").join(", ")
  }
  return { all, start, again, leave, migrate }
}

/** Endpoints that always succeed, and one that refuses some; each subscribes to an event type of its own. */
const prepare = async (server: Server, urlOf: (path: string) => string) => {
  await call(server, "POST", "/workspaces", { slug: SLUG, name: "Acme" })
  const eventTypes = PATHS.map((_, n) => `e.n${n}`)
  const endpoints: Array<string> = []
  for (const [n, path] of PATHS.entries()) {
    const wanted = { url: urlOf(path), eventTypes: [eventTypes[n]] }
    const { body } = await call(server, "POST", `/workspaces/${SLUG}/webhooks`, wanted)
    endpoints.push(body.id)
  }
  return { endpoints, eventTypes }
}

const judge = async (client: pg.Client, load: Load, received: ReadonlyArray<Receiver.Received>) => {
  const { rows } = await client.query<{ id: string; status: string; attempts: number }>(
    "select id, status, attempts from posthorn.deliveries"
  )
  const stored = new Map(rows.map((row) => [row.id, row]))
  const posts = new Map<string, number>()
  for (const id of received.map(idOf)) posts.set(id, (posts.get(id) ?? 0) + 1)
  const wrong = [
    ...load.faults,
    ...load.acknowledged
      .filter((id) => stored.get(id)?.status !== "delivered" || !posts.has(id))
      .map((id) => `${id} was acknowledged, and is ${stored.get(id)?.status ?? "gone"}`),
    ...[...posts.keys()].filter((id) => !stored.has(id)).map((id) => `${id} was sent, and is not there`)
  ]
  for (const [what, statement] of Object.entries(WRONG)) {
    const found = await client.query<{ id: string }>(statement)
    wrong.push(...found.rows.map(({ id }) => `${id}: ${what}`))
  }
  const repeated = rows.reduce(
    (sum, { attempts, id }) => sum + Math.max(0, (posts.get(id) ?? 0) - attempts),
    0
  )
  return { wrong, repeated }
}

/** `say` reports progress; each step lasts `stepMs`. */
export const upgrade = (root: string, ref: string, stepMs: number, say: (line: string) => void) =>
  Effect.gen(function* () {
    const { commit, file: old } = yield* oldBuild(root, ref)
    yield* Effect.promise(makeBundle)
    say(`built ${commit.slice(0, 9)} and this`)
    const databaseUrl = Redacted.value((yield* OwnCluster.makeEmpty).url)
    const receiver = yield* Receiver.make({
      behaviours: {
        "/ok": (answer) => void answer.reply(200),
        "/flaky": (answer) => void answer.reply(answer.nth % EVERY === 0 ? 500 : 200)
      }
    })
    const { again, all, leave, migrate, start } = commands(databaseUrl)
    yield* Effect.addFinalizer(() =>
      Effect.promise(() => Promise.all(all.map(({ process }) => process.stop())))
    )

    return yield* Effect.promise(async (): Promise<Verdict> => {
      await migrate(old)
      const oldServe = await start("the older serve", old, "serve")
      const oldWork = await start("the older work", old, "work")
      const older: Server = { name: "older", origin: oldServe.origin }
      const { endpoints, eventTypes } = await prepare(older, (path) => receiver.url(path))
      const load = makeLoad(databaseUrl, endpoints, eventTypes)
      load.servers = [older]
      load.start()
      const step = async (what: string) => {
        say(`${what} (${load.acknowledged.length} acknowledged, ${receiver.received.length} received)`)
        await pause(stepMs)
      }

      await step("the older ones work")
      const migrated = await migrate(bundleFile)
      await step(`migrated beneath them: ${migrated}`)
      await again("the older work", oldWork, "SIGKILL")
      await step("the older worker was killed, and is there again")

      const newServe = await start("the newer serve", bundleFile, "serve")
      const newWork = await start("the newer work", bundleFile, "work")
      const newer: Server = { name: "newer", origin: newServe.origin }
      load.servers = [older, newer]
      await step("newer ones are beside them")
      await again("the newer work", newWork, "SIGKILL")
      await step("the newer worker was killed, and is there again")

      load.servers = [newer]
      await Promise.all([
        again("the older serve", oldServe, "SIGTERM"),
        again("the older work", oldWork, "SIGTERM")
      ])
      load.servers = [older]
      await Promise.all([leave("the newer serve", newServe), leave("the newer work", newWork)])
      await step("back to the older ones, started anew")

      await load.stop()
      const client = new pg.Client({ connectionString: databaseUrl })
      await client.connect()
      await until("everything is delivered", CALM_MS, async () => {
        const { rows } = await client.query("select 1 from posthorn.queue limit 1")
        return rows.length === 0
      })
      const { repeated, wrong } = await judge(client, load, receiver.received)
      await client.end()
      return {
        commit,
        migrated,
        calls: load.calls,
        acknowledged: load.acknowledged.length,
        received: receiver.received.length,
        repeated,
        wrong,
        logs: all.flatMap(({ process }) => process.log)
      }
    })
  }).pipe(Effect.scoped)
