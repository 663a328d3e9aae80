/**
 * Every path has a bound: what one caller, tenant or stranger tries at its worst must cost the others next to nothing.
 *
 * Everything is derived from what `serve` says of itself, so a new operation is tried without a line here. Judged while it is tried:
 * how long the event loops of `serve` and `work` stand still, their memory, another workspace's publishes and arrivals, and how
 * long a statement runs. A case that fails is tried again: a loaded machine may stall by itself.
 */
import { expect, layer } from "@effect/vitest"
import { freePort } from "@posthorn/testkit/FreePort"
import { TestDatabaseUrl, TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Exit, Redacted, Scope } from "effect"
import pg from "pg"
import { OPERATOR_TOKEN } from "../processes/ServeProcess.ts"
import { type Attempt, call, httpAttempts, Ids, mcpAttempts, type World } from "./Doors.ts"
import { type Flooded, flood, write } from "./Flood.ts"
import { type Fared, neighbour } from "./Neighbour.ts"
import { MOST_MB, type Probed, startProbed } from "./Probed.ts"
import { knownFor } from "./WorstInputs.ts"

const STALL_MS = 100
const STATEMENT_MS = 500
const KEPT_MB = 50
const TRIES = 2

const AT_ONCE = 16
const FOR_MS = 250
/** Rows of each kind, as a page has at most. */
const ROWS = 200
const FILL_MS = 2_500

interface Case {
  readonly name: string
  readonly try: () => Promise<Flooded>
}

interface Row {
  readonly name: string
  readonly told: string
  readonly stallMs: number
  readonly workStallMs: number
  readonly peakMb: number
  readonly keptMb: number
  readonly fared: Fared
  readonly statementMs: number
  readonly breaches: ReadonlyArray<string>
}

/** The longest statement that `serve` has running, looked at every 50 ms. */
const watchStatements = (url: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const client = new pg.Client({ connectionString: url })
        await client.connect()
        let longest = 0
        const look = async () => {
          const { rows } = await client.query(
            `select coalesce(max(extract(epoch from clock_timestamp() - query_start) * 1000), 0)::float as ms
            from pg_stat_activity
            where datname = current_database() and state = 'active' and pid <> pg_backend_pid()
              and application_name like 'posthorn-serve%'`
          )
          longest = Math.max(longest, rows[0].ms)
        }
        let looking: Promise<void> = Promise.resolve()
        const timer = setInterval(() => {
          looking = looking.then(look).catch(() => undefined)
        }, 50)
        const tell = () => {
          const told = longest
          longest = 0
          return told
        }
        return { client, timer, tell }
      }),
      ({ client, timer }) =>
        Effect.promise(() => {
          clearInterval(timer)
          return client.end()
        })
    ),
    ({ tell }) => tell
  )

const shown = ({ breaches, fared, keptMb, name, peakMb, stallMs, statementMs, told, workStallMs }: Row) =>
  [
    breaches.length === 0 ? "  " : "! ",
    name.padEnd(44),
    `${stallMs.toFixed(0).padStart(6)} ms`,
    `${workStallMs.toFixed(0).padStart(6)} ms`,
    `${peakMb.toFixed(0).padStart(5)} MB`,
    `${keptMb.toFixed(0).padStart(4)} MB`,
    `${fared.publishMs.toFixed(0).padStart(6)} ms`,
    `${fared.arrivalMs.toFixed(0).padStart(6)} ms`,
    `${statementMs.toFixed(0).padStart(5)} ms`,
    ` ${told}`
  ].join("")

const HEAD =
  "  case                                        serve's loop  work's   peak    kept  publish  arrival  stmt"

/** Pages that need no token. */
const OPEN = [
  "/",
  "/.well-known/oauth-protected-resource",
  "/console",
  "/console/session",
  "/health/live",
  "/health/ready",
  "/llms-full.txt",
  "/llms.txt",
  "/metrics",
  "/openapi.json",
  "/reference"
]

const get = (path: string, headers: Readonly<Record<string, string>> = {}) => ({
  method: "GET",
  path,
  headers
})

const openCases = (url: string, slug: string, token: string): ReadonlyArray<Case> => {
  const many = { atOnce: 64, forMs: FOR_MS, most: 6_400 }
  const post = (path: string, body: string) => ({
    method: "POST",
    path,
    body,
    headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" }
  })
  const pipelined = (request: string) => request.repeat(Math.ceil(65_536 / request.length))
  return [
    ...OPEN.map((path) => ({ name: `open ${path}`, try: () => flood(url, () => get(path), many) })),
    {
      name: "open a key set",
      try: () => flood(url, () => get(`/workspaces/${slug}/.well-known/jwks.json`), many)
    },
    {
      name: "open key sets of nobody",
      try: () => flood(url, (n) => get(`/workspaces/nobody-${n}/.well-known/jwks.json`), many)
    },
    {
      name: "open signing in with a wrong code",
      try: () => flood(url, (n) => post("/console/session", `{"code":"${"x".repeat(500)}${n}"}`), many)
    },
    {
      name: "open signing in with a right token",
      try: () => flood(url, () => post("/console/session", JSON.stringify({ token })), many)
    },
    { name: "open no such path", try: () => flood(url, () => get(`/${"x".repeat(8_000)}`), many) },
    {
      name: "open a wrong token",
      try: () => flood(url, (n) => get("/caller", { authorization: `Bearer ${"x".repeat(500)}${n}` }), many)
    },
    {
      name: "open many headers",
      try: () =>
        flood(
          url,
          () => get("/caller", Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`x-${n}`, "x"]))),
          many
        )
    },
    {
      name: "pipelined, no such path",
      try: () => write(url, pipelined("GET /x HTTP/1.1\r\n\r\n"), { atOnce: 10, forMs: 3_000 })
    },
    {
      name: "pipelined, a key set",
      try: () =>
        write(url, `GET /workspaces/${slug}/.well-known/jwks.json HTTP/1.1\r\n\r\n`.repeat(64), {
          atOnce: 100,
          forMs: 3_000
        })
    },
    {
      name: "pipelined, never read",
      try: () =>
        write(url, pipelined("GET /openapi.json HTTP/1.1\r\n\r\n"), {
          atOnce: 10,
          forMs: 2_000,
          isReading: false
        })
    },
    {
      name: "a list, never read",
      try: () =>
        write(
          url,
          `GET /workspaces/${slug}/webhooks?limit=200 HTTP/1.1\r\nauthorization: Bearer ${token}\r\n\r\n`.repeat(
            8
          ),
          { atOnce: 32, forMs: 3_000, isReading: false }
        )
    }
  ]
}

/** Makes as many rows as a page has of whatever an operation makes. */
const fill = async (url: string, attempts: ReadonlyArray<Attempt>, ids: Ids) => {
  for (const { ask } of attempts.filter(({ makes }) => makes)) {
    const until = Date.now() + FILL_MS
    let n = 0
    const go = async () => {
      while (n < ROWS && Date.now() < until) {
        ids.learn((await call(url, ask(3 * ++n + 3_000))).body)
      }
    }
    await Promise.all(Array.from({ length: 4 }, go))
  }
}

/** Off where an operation is tried as often as one caller may: `Doors.ts` bounds how often. */
const BUCKETS = ["REST_READ", "REST_WRITE", "EVENT_PUBLISH", "ASSISTANT", "MCP"]

/** `serve`, `work`, a neighbour at work, an attacker's workspace; and what trying a case costs. */
const installation = (unlimited: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const port = yield* freePort
    const url = `http://127.0.0.1:${port}`
    const off = Object.fromEntries(unlimited.map((bucket) => [`RATE_LIMIT_${bucket}`, "off"]))
    let scope = yield* Scope.make()
    yield* Effect.addFinalizer((exit) => Scope.close(scope, exit))
    const start = Effect.suspend(() =>
      Scope.extend(startProbed("serve", { ...off, PORT: String(port), OPERATOR_TOKEN, BASE_URL: url }), scope)
    )
    let serve = yield* start
    const work: Probed = yield* startProbed("work", {})
    const statements = yield* watchStatements(Redacted.value(yield* TestDatabaseUrl))
    const other = yield* neighbour
    let hasEnded = false

    const operator = { authorization: `Bearer ${OPERATOR_TOKEN}`, "content-type": "application/json" }
    const post = async (path: string, body: unknown) =>
      (await call(url, { method: "POST", path, headers: operator, body: JSON.stringify(body) })).body as never
    const enter = async (slug: string): Promise<{ readonly id: string; readonly token: string }> => {
      await post("/workspaces", { slug, name: slug })
      return await post(`/workspaces/${slug}/api-tokens`, { name: "bounds", scopes: ["admin"] })
    }
    const signIn = async (token: string) => {
      const answer = await fetch(`${url}/console/session`, {
        method: "POST",
        headers: { "content-type": "application/json", "sec-fetch-site": "same-origin" },
        body: JSON.stringify({ token })
      })
      return answer.headers.get("set-cookie")?.split(";")[0] ?? ""
    }
    const attacker = yield* Effect.promise(async () => {
      const { token } = await enter("neighbour")
      await post("/workspaces/neighbour/webhooks", { url: other.receiverUrl, eventTypes: ["*"] })
      await other.begin(`${url}/workspaces/neighbour/events`, token)
      await enter("spare")
      return await enter("attacker")
    })

    const alone = yield* Effect.promise(async () => {
      await other.tell(40)
      return await other.tell(80)
    })
    const keptAtFirst = yield* Effect.promise(() => serve.keptMb())
    process.stdout.write(
      `alone: publish ${alone.publishMs.toFixed(0)} ms, arrival ${alone.arrivalMs.toFixed(0)} ms, kept ${keptAtFirst.toFixed(0)} MB\n${HEAD}\n`
    )
    const once = async ({ name, try: attempt }: Case): Promise<Row> => {
      await other.tell()
      // The machine may have other work by now.
      const before = await other.tell(8)
      const most = (what: keyof Fared) => 2 * Math.max(alone[what], before[what]) + 40
      await Promise.all([serve.look().catch(() => undefined), work.look()])
      statements()
      const { bytes, statuses } = await attempt()
      const fared = await other.tell()
      const statementMs = statements()
      const counts = Object.entries(statuses).map(([status, n]) => `${status}×${n}`)
      const cost = await serve.look().catch(() => ({ stallMs: 60_000, peakMb: MOST_MB }))
      hasEnded = cost.stallMs === 60_000
      const { stallMs: workStallMs } = await work.look()
      const keptMb = (await serve.keptMb().catch(() => 0)) - keptAtFirst
      const bounds: ReadonlyArray<readonly [string, boolean]> = [
        ["serve ended", !hasEnded],
        ["serve's loop", cost.stallMs <= STALL_MS],
        ["work's loop", workStallMs <= STALL_MS],
        ["memory", cost.peakMb < MOST_MB],
        ["kept", keptMb <= KEPT_MB],
        ["publish", fared.publishMs <= most("publishMs")],
        ["arrival", fared.arrivalMs <= most("arrivalMs")],
        ["statement", statementMs <= STATEMENT_MS]
      ]
      return {
        name,
        told: `${counts.join(" ")} ≤ ${(bytes / 1024).toFixed(0)} KiB`,
        ...cost,
        workStallMs,
        keptMb,
        fared,
        statementMs,
        breaches: bounds.flatMap(([what, holds]) => (holds ? [] : [what]))
      }
    }

    const restarted = Effect.gen(function* () {
      yield* Scope.close(scope, Exit.void)
      scope = yield* Scope.make()
      serve = yield* start
    })

    /** Tries each, and gives what breached a bound. */
    const judge = (cases: ReadonlyArray<Case>) =>
      Effect.gen(function* () {
        const breached: Array<string> = []
        for (const one of cases) {
          let row = yield* Effect.promise(() => once(one))
          for (let tries = 1; tries < TRIES && row.breaches.length > 0 && !hasEnded; tries++) {
            const next = yield* Effect.promise(() => once(one))
            if (next.breaches.length < row.breaches.length) row = next
          }
          process.stdout.write(`${shown(row)}\n`)
          if (row.breaches.length > 0) breached.push(`${row.name}: ${row.breaches.join(", ")}`)
          if (hasEnded) yield* restarted
        }
        return breached
      })
    return { attacker, judge, signIn, url, receiverUrl: other.receiverUrl }
  })

layer(TestPg, { excludeTestServices: true })("bounds", (it) => {
  it.scoped(
    "§7.1 nothing that a stranger tries costs a workspace",
    () =>
      Effect.gen(function* () {
        const { attacker, judge, url } = yield* installation(["REST_WRITE"])
        expect(yield* judge(openCases(url, "attacker", attacker.token))).toEqual([])
      }),
    600_000
  )

  it.scoped(
    "§7.1 nothing that a workspace tries at any door costs another",
    () =>
      Effect.gen(function* () {
        const { attacker, judge, receiverUrl, signIn, url } = yield* installation(BUCKETS)
        const cases = yield* Effect.promise(async () => {
          const world: World = {
            url,
            slug: "attacker",
            spare: "spare",
            operatorToken: OPERATOR_TOKEN,
            token: attacker.token,
            cookie: await signIn(attacker.token),
            known: knownFor(receiverUrl)
          }
          const ids = new Ids([attacker.id])
          const attempts = await httpAttempts(world, "REST", ids)
          await fill(url, attempts, ids)
          attempts.push(...(await httpAttempts(world, "console", ids)), ...(await mcpAttempts(world, ids)))
          return attempts.map(
            ({ ask, door, most, name }): Case => ({
              name: `${door} ${name}`,
              try: async () => {
                if (door === "console") world.cookie = await signIn(attacker.token)
                return flood(url, (n) => ask(n + 10_000), { atOnce: AT_ONCE, forMs: FOR_MS, most })
              }
            })
          )
        })
        expect(yield* judge(cases)).toEqual([])
      }),
    600_000
  )
})
