/**
 * `serve`, `work`, a neighbour at work and an attacker's workspace; and what each case that is tried costs: how long the event loops
 * stand still, memory, the neighbour's publishes and arrivals, and the longest statement. The attacker is a thread at a lower
 * priority where this may be undone (root): in reality it uses processors of another machine.
 */

import { getPriority, setPriority } from "node:os"
import { freePort } from "@posthorn/testkit/FreePort"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { Effect, Exit, Redacted, Scope } from "effect"
import pg from "pg"
import { OPERATOR_TOKEN } from "../processes/ServeProcess.ts"
import { call } from "./Doors.ts"
import type { Flooded } from "./Flood.ts"
import { type Fared, neighbour } from "./Neighbour.ts"
import { MOST_MB, type Probed, startProbed } from "./Probed.ts"
import { type Breach, isKnown } from "./Shortfalls.ts"

const STALL_MS = 100
const STATEMENT_MS = 500
const KEPT_MB = 50
/** What the machine's other work can breach by itself is judged by the best of five tries, the rest by the best of two. */
const TRIES = 2
const TRIES_BESIDE_OTHERS = 5
const BESIDE_OTHERS: ReadonlySet<Breach> = new Set([
  "publish",
  "arrival",
  "serve's loop",
  "work's loop",
  "statement"
])

/** A part of the cases, by name, for whoever mends one: `BOUNDS_ONLY='publishEvents?$'`. */
const only = new RegExp(process.env.BOUNDS_ONLY ?? "")

export interface Case {
  readonly name: string
  /** Something must be answered with success: an operation that only refuses was not tried. */
  readonly succeeds?: boolean
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
  readonly breaches: ReadonlyArray<Breach>
  /** Those that `Shortfalls.ts` does not know. */
  readonly failures: ReadonlyArray<Breach>
}

/** On Linux a priority is the thread's: the neighbour and the processes keep theirs. */
const atLowPriority = async <A>(attempt: () => Promise<A>): Promise<A> => {
  if (process.getuid?.() !== 0) return await attempt()
  const before = getPriority()
  setPriority(before + 10)
  return await attempt().finally(() => setPriority(before))
}

/** The longest statement that `serve` and `work` have running, looked at every 50 ms. */
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
              and application_name in ('posthorn serve', 'posthorn work')`
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

const mostTries = ({ failures }: Row) =>
  failures.every((each) => BESIDE_OTHERS.has(each)) ? TRIES_BESIDE_OTHERS : TRIES

const timesShown = ({ p50, p95 }: Fared["publish"]) => `${p50.toFixed(0)}/${p95.toFixed(0)}`

const shown = ({ breaches, fared, keptMb, name, peakMb, stallMs, statementMs, told, workStallMs }: Row) =>
  [
    breaches.length === 0 ? "  " : "! ",
    name.padEnd(44),
    `${stallMs.toFixed(0).padStart(6)} ms`,
    `${workStallMs.toFixed(0).padStart(6)} ms`,
    `${peakMb.toFixed(0).padStart(5)} MB`,
    `${keptMb.toFixed(0).padStart(4)} MB`,
    `${timesShown(fared.publish).padStart(11)} ms`,
    `${timesShown(fared.arrival).padStart(11)} ms`,
    `${statementMs.toFixed(0).padStart(5)} ms`,
    ` ${told}`
  ].join("")

const HEAD =
  "  case                                     serve's loop   work's    peak   kept  publish, p95  arrival, p95    stmt"

/** `serve`, `work`, a neighbour at work, an attacker's workspace; and what trying a case costs. */
export const installation = (
  unlimited: ReadonlyArray<string>,
  workEnvironment: Readonly<Record<string, string>> = {}
) =>
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
    const work: Probed = yield* startProbed("work", workEnvironment)
    const statements = yield* watchStatements(Redacted.value(yield* TestDatabaseUrl))
    const other = yield* neighbour
    let hasEnded = false
    /** Of several tries one is enough: a workspace is deleted once. */
    const succeeded = new Set<string>()

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
      `alone: publish ${timesShown(alone.publish)} ms, arrival ${timesShown(alone.arrival)} ms, kept ${keptAtFirst.toFixed(0)} MB\n${HEAD}\n`
    )
    const tryOnce = async ({ name, succeeds = false, try: attempt }: Case): Promise<Row> => {
      await other.tell()
      // The machine may have other work by now.
      const before = await other.tell(8)
      const most = (what: keyof Fared) => 2 * Math.max(alone[what].p50, before[what].p50) + 40
      await Promise.all([serve.look().catch(() => undefined), work.look()])
      statements()
      const { bytes, statuses } = await atLowPriority(attempt)
      const fared = await other.tell()
      const statementMs = statements()
      if (Object.keys(statuses).some((status) => status.startsWith("2"))) succeeded.add(name)
      const counts = Object.entries(statuses).map(([status, n]) => `${status}×${n}`)
      const cost = await serve.look().catch(() => ({ stallMs: 60_000, peakMb: MOST_MB }))
      hasEnded = cost.stallMs === 60_000
      const { peakMb: workPeakMb, stallMs: workStallMs } = await work.look()
      const kept = async () => (await serve.keptMb().catch(() => 0)) - keptAtFirst
      let keptMb = await kept()
      for (let again = 0; again < 3 && keptMb > KEPT_MB; again++) {
        // What was under way when the attacker stopped is still being answered.
        await new Promise((resolve) => setTimeout(resolve, 1_500))
        keptMb = await kept()
      }
      const bounds: ReadonlyArray<readonly [Breach, number, number]> = [
        ["serve ended", hasEnded ? 1 : 0, 0],
        ["not tried", succeeds && !succeeded.has(name) ? 1 : 0, 0],
        ["serve's loop", cost.stallMs, STALL_MS],
        ["work's loop", workStallMs, STALL_MS],
        ["memory", cost.peakMb, MOST_MB],
        ["work's memory", workPeakMb, MOST_MB],
        ["kept", keptMb, KEPT_MB],
        ["publish", fared.publish.p50, most("publish")],
        ["arrival", fared.arrival.p50, most("arrival")],
        ["statement", statementMs, STATEMENT_MS]
      ]
      const breached = bounds.filter(([, figure, bound]) => figure > bound)
      return {
        name,
        told: `${counts.join(" ")} ≤ ${(bytes / 1024).toFixed(0)} KiB`,
        ...cost,
        workStallMs,
        keptMb,
        fared,
        statementMs,
        breaches: breached.map(([what]) => what),
        failures: breached.flatMap(([what, figure]) => (isKnown(what, figure) ? [] : [what]))
      }
    }

    const restarted = Effect.gen(function* () {
      yield* Scope.close(scope, Exit.void)
      scope = yield* Scope.make()
      serve = yield* start
    })

    /** Tries each, and gives what breached a bound, but for the known shortfalls. */
    const judge = (cases: ReadonlyArray<Case>) =>
      Effect.gen(function* () {
        const breached: Array<string> = []
        for (const one of cases.filter(({ name }) => only.test(name))) {
          let row = yield* Effect.promise(() => tryOnce(one))
          for (let tries = 1; tries < mostTries(row) && row.failures.length > 0 && !hasEnded; tries++) {
            const next = yield* Effect.promise(() => tryOnce(one))
            if (next.failures.length < row.failures.length) row = next
          }
          process.stdout.write(`${shown(row)}\n`)
          if (row.failures.length > 0) breached.push(`${row.name}: ${row.failures.join(", ")}`)
          if (hasEnded) yield* restarted
        }
        return breached
      })
    return { attacker, enter, judge, signIn, url, receiverUrl: other.receiverUrl }
  })
