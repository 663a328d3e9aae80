/**
 * A run: real processes and a real PostgreSQL, a plan of events and faults for so many seconds, then calm until everything
 * has come to its end, then judgement by the laws of the simulation and by those of an installation.
 */
import * as Receiver from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import { makeBundle } from "../processes/Command.ts"
import { WRONG } from "../processes/Wrong.ts"
import type { Delivery } from "../simulation/Facts.ts"
import type { Judged } from "../simulation/Judged.ts"
import { laws } from "../simulation/Laws.ts"
import { CASES, INSIDE, POISONED } from "./Cases.ts"
import { Disturbances } from "./Disturbances.ts"
import { Faults, pause, type Targets } from "./Faults.ts"
import { type History, LOGGED, type Logged, readHistory } from "./History.ts"
import { install, type Query } from "./Installation.ts"
import { installationLaws, type Judgement } from "./InstallationLaws.ts"
import { type Plan, planOf, type Size } from "./Plan.ts"
import { type Processes, REQUEST_TIMEOUT_MS, RETRY_DELAY_MS, roleOf, SLUG } from "./Processes.ts"
import { Publishers } from "./Publishers.ts"
import { POISON, Receivers } from "./Receivers.ts"
import { type Line, Tally } from "./Tally.ts"

/** How long the end may take once nothing goes wrong any more. */
const CALM_MS = 90_000
const LOOK_MS = 250
const GRACE_MS = 24 * 3_600_000

export interface LawJudgement extends Judgement {
  /** What the cases are, and how many there must be at least. */
  readonly of: string
  readonly least: number
}

export interface Verdict {
  readonly plan: Plan
  readonly judged: Judged
  readonly done: ReadonlyMap<string, number>
  readonly laws: Readonly<Record<string, LawJudgement>>
  /** Judged when processes are killed and nothing else: an answer that is lost may be counted twice. */
  readonly meters: Readonly<Record<string, Line>>
  readonly calmMs: number
  readonly stalls: { readonly count: number; readonly ms: number }
  /** What the processes said, but that the database was away. */
  readonly logs: ReadonlyArray<string>
}

/** Endpoints by number: each wants the events of its number, and the first also those of poison. */
export const targetsOf = (plan: Plan, { call }: Processes, urlOf: (path: string) => string): Targets => {
  const ids: Array<string> = []
  const create = async (n: number) => {
    const url = urlOf(`/${plan.endpoints[n]}`)
    const { body } = await call("POST", "/webhooks", { url, eventTypes: [`e.n${n}`] })
    ids[n] = (body as { readonly id: string }).id
  }
  return { ids, create, urlOf: (manner) => urlOf(`/${manner}`) }
}

const publishPoison = async ({ call }: Processes, url: string) => {
  await call("POST", "/webhooks", { url, eventTypes: [POISON] })
  await call("POST", "/events", { eventType: POISON, payload: {}, idempotencyKey: "poison" })
}

const UNFINISHED = `
  select (select count(*) from posthorn.queue q join posthorn.endpoints e
      on e.workspace_id = q.workspace_id and e.id = q.endpoint_id where e.enabled)
    + (select count(*) from posthorn.dead_letters) as n`

/** Everything that can be delivered comes to its end, or time is up. */
export const settle = async (query: Query) => {
  const began = Date.now()
  while (Date.now() - began < CALM_MS) {
    const [row] = await query<{ n: string }>(UNFINISHED)
    if (Number(row!.n) === 0) break
    await pause(LOOK_MS)
  }
  return Date.now() - began
}

const readWrong = async (query: Query) => {
  const wrong: Array<string> = []
  for (const [what, statement] of Object.entries(WRONG))
    for (const { id } of await query<{ id: string }>(statement)) wrong.push(`${id}: ${what}`)
  return wrong
}

const DELIVERIES = `
  select d.id, d.endpoint_id as "endpointId", d.status, d.attempts, q.delivery_id is not null as queued
  from posthorn.deliveries d left join posthorn.queue q on q.workspace_id = d.workspace_id and q.delivery_id = d.id`

type Found = Pick<Delivery, "id" | "endpointId" | "status" | "attempts"> & { readonly queued: boolean }

/** A worker that stood still, or whose machine did, may have seen nothing of an answer. */
const unseenBy = ({ posts }: Receivers, disturbances: Disturbances): ReadonlySet<string> =>
  new Set(
    posts
      .filter(({ at }) => disturbances.during(at, at + REQUEST_TIMEOUT_MS))
      .map(({ deliveryId }) => deliveryId)
  )

const judgedOf = (
  history: History,
  found: ReadonlyArray<Found>,
  notified: ReadonlyArray<string>,
  receivers: Receivers,
  disturbances: Disturbances
): Judged => {
  const published = new Map(
    history.facts.flatMap((fact) => (fact.kind === "published" ? [[fact.deliveryId, fact.at] as const] : []))
  )
  const lastPost = new Map(receivers.posts.map(({ at, deliveryId }) => [deliveryId, at]))
  return {
    model: {
      facts: history.facts,
      endpoints: history.endpoints,
      deliveries: new Map(found.map((one) => [one.id, one])),
      queue: new Map(
        found.filter(({ queued }) => queued).map(({ endpointId, id }) => [id, { deliveryId: id, endpointId }])
      ),
      notified
    },
    posts: receivers.posts.filter(({ deliveryId }) => published.has(deliveryId)),
    answered: receivers.answered,
    unseen: unseenBy(receivers, disturbances),
    lagMs: (at) => disturbances.lag(at),
    secrets: history.secrets,
    poison: receivers.poison,
    retryDelayMs: RETRY_DELAY_MS,
    graceMs: GRACE_MS,
    reachMs: (at) => disturbances.reach(at),
    repeatsOf: (id) =>
      disturbances.between(published.get(id) ?? 0, lastPost.get(id) ?? 0) + (receivers.broken.get(id) ?? 0)
  }
}

export const judge = async (
  query: Query,
  receivers: Receivers,
  publishers: Publishers,
  disturbances: Disturbances,
  plan: Plan
) => {
  const log = await query<Logged & { readonly [column: string]: unknown }>(LOGGED)
  const notified = await query<{ id: string }>(
    "select delivery_id as id from posthorn.notifications where kind = 'delivery_dead_lettered'"
  )
  const attempts = await query<{ id: string; row: unknown }>(
    "select id, to_jsonb(a) as row from posthorn.attempts a"
  )
  const judged = judgedOf(
    readHistory(log),
    await query<Found>(DELIVERIES),
    notified.map(({ id }) => id),
    receivers,
    disturbances
  )
  const installed = {
    log,
    acknowledged: publishers.acknowledged,
    undone: publishers.undone,
    wrong: await readWrong(query),
    attempts: new Map(attempts.map(({ id, row }) => [id, JSON.stringify(row)]))
  }
  const judgements: Record<string, LawJudgement> = {}
  for (const [name, law] of Object.entries(laws)) {
    if (INSIDE.has(name)) continue
    const { count, least, of } = (plan.poison && POISONED[name]) || CASES[name]!
    judgements[name] = { of, least, cases: count(judged), violations: law(judged) }
  }
  for (const [name, one] of Object.entries(installationLaws(installed, judged)))
    judgements[name] = { ...one, of: "cases", least: 1 }
  return { judged, laws: judgements, log }
}

/** Plays the plan of this seed; `say` tells how it goes. */
export const chaos = (seed: number, seconds: number, size: Size, say: (line: string) => void) =>
  Effect.gen(function* () {
    yield* Effect.promise(makeBundle)
    const plan = planOf(seed, seconds, size)
    const disturbances = new Disturbances()
    const installation = yield* install(size)
    const tally = new Tally(installation)
    let faults: Faults | null = null
    const receivers = new Receivers(seed, (sender) => faults?.poisoned(roleOf(sender)))
    const receiver = yield* Receiver.make({ behaviours: receivers.behaviours })
    const targets = targetsOf(plan, installation, (path) => receiver.url(path))
    const publishers = new Publishers(SLUG, installation.call, () => installation.databaseUrl)
    const playing = new Faults(installation, targets, disturbances, tally)
    faults = playing
    return yield* Effect.promise(async (): Promise<Verdict> => {
      for (const n of plan.endpoints.keys()) await targets.create(n)
      say(`${plan.steps.length} steps in ${seconds} s, with ${plan.endpoints.length} endpoints`)
      const began = Date.now()
      disturbances.watch()
      if (size.onlyKills) tally.watch()
      for (const { act, at } of plan.steps) {
        if (began + at > Date.now()) await pause(began + at - Date.now())
        if (act.kind === "publish") publishers.publish(act)
        else if (act.kind === "poison") void publishPoison(installation, receiver.url("/ok"))
        else playing.commit(act)
      }
      say("no more faults")
      await playing.calm()
      receivers.calm = true
      say("every line is well")
      await Promise.all(publishers.running)
      for (const id of targets.ids) await installation.call("PATCH", `/webhooks/${id}`, { enabled: true })
      say("calm")
      const calmMs = await settle(installation.query)
      disturbances.stopWatching()
      if (size.onlyKills) await tally.finish()
      const {
        judged,
        laws: judgements,
        log
      } = await judge(installation.query, receivers, publishers, disturbances, plan)
      const logs = [...installation.processes.values()].flatMap(({ log }) => log)
      const meters = size.onlyKills ? tally.judge(log, publishers.sql) : {}
      say(`judged`)
      const { stalls } = disturbances
      return { plan, judged, stalls, done: playing.done, laws: judgements, meters, calmMs, logs }
    })
  }).pipe(Effect.scoped)
