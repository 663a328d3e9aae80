/** Judges a run: reads the database's history of it, and applies the laws of the simulation and of an installation. */

import { WRONG } from "../processes/Wrong.ts"
import type { Delivery, Post } from "../simulation/Facts.ts"
import type { Judged } from "../simulation/Judged.ts"
import { laws } from "../simulation/Laws.ts"
import { CASES, INSIDE, POISONED } from "./Cases.ts"
import { type History, LOGGED, type Logged, readHistory } from "./ChangeHistory.ts"
import type { Query } from "./ChaosInstallation.ts"
import type { Clocks } from "./Clocks.ts"
import type { Disturbances } from "./Disturbances.ts"
import { installationLaws } from "./InstallationLaws.ts"
import type { NamedJudgement } from "./Judgement.ts"
import { operationLaws } from "./OperationLaws.ts"
import type { Plan } from "./Plan.ts"
import { LONGEST_TIMEOUT_MS } from "./Policies.ts"
import { timeoutsAreThePolicies } from "./PolicyLaws.ts"
import { PLATFORM, RETRY_DELAY_MS } from "./Processes.ts"
import type { Publishers } from "./Publishers.ts"
import type { Receivers } from "./Receivers.ts"

/** So far from an attempt on record, a post of its delivery belongs to it. */
const BESIDE_MS = 1_000
const GRACE_MS = 24 * 3_600_000

/** With the minimum of cases. */
export type LawJudgement = NamedJudgement & { readonly least: number }

export const readWrong = async (query: Query, all: Readonly<Record<string, string>> = WRONG) => {
  const wrong: Array<string> = []
  for (const [what, statement] of Object.entries(all))
    for (const { id } of await query<{ id: string }>(statement)) wrong.push(`${id}: ${what}`)
  return wrong
}

const DELIVERIES = `
  select d.id, d.endpoint_id as "endpointId", d.status, d.attempts, q.delivery_id is not null as queued
  from posthorn.deliveries d left join posthorn.queue q on q.workspace_id = d.workspace_id and q.delivery_id = d.id`

type Found = Pick<Delivery, "id" | "endpointId" | "status" | "attempts"> & { readonly queued: boolean }

/**
 * When attempts began: of what is on record by the database's clock, as the rate counts it. What was sent and never recorded began
 * when it came, as far as anybody knows.
 */
export const beginsOf = (
  { facts }: History,
  posts: ReadonlyArray<Post>
): ReadonlyMap<string, ReadonlyArray<number>> => {
  const endpoints = new Map<string, string>()
  const recorded = new Map<string, ReadonlyArray<number>>()
  const begins = new Map<string, Array<number>>()
  const begin = (endpointId: string, at: number) =>
    begins.set(endpointId, [...(begins.get(endpointId) ?? []), at])
  for (const fact of facts) {
    if (fact.kind === "published") endpoints.set(fact.deliveryId, fact.endpointId)
    if (fact.kind !== "recorded") continue
    const { at, deliveryId, durationMs, endpointId } = fact.observed
    begin(endpointId, at)
    recorded.set(deliveryId, [...(recorded.get(deliveryId) ?? []), at, at + durationMs])
  }
  for (const { again = false, at, deliveryId } of posts) {
    const times = recorded.get(deliveryId) ?? []
    const isRecorded = times.some(
      (from, n) => n % 2 === 0 && at >= from - BESIDE_MS && at <= times[n + 1]! + BESIDE_MS
    )
    const endpointId = endpoints.get(deliveryId)
    if (!again && !isRecorded && endpointId !== undefined) begin(endpointId, at)
  }
  return new Map([...begins].map(([id, times]) => [id, times.toSorted((a, b) => a - b)]))
}

/** Over all policies that the endpoint had. */
const leastTimeoutMs = ({ none, policies }: History, endpointId: string) =>
  Math.min(
    ...[{ policy: none }, ...(policies.get(endpointId) ?? [])].map(
      ({ policy }) => policy.timeoutSeconds * 1_000
    )
  )

/** With whether the sender's clock was set to another time, which must have no effect. */
const timed = (
  { posts, senders }: Receivers,
  disturbances: Disturbances,
  clocks: Clocks
): ReadonlyArray<Post> =>
  posts.map((post) => {
    const { at, worker } = post
    return { ...post, wrongClock: clocks.wasOff(senders[worker]!, at - disturbances.reach(at), at) }
  })

/**
 * A worker that was frozen, or whose machine stalled, may have seen nothing of an answer. The same holds when the receivers,
 * which run in this process, were frozen: a request had waited unread, and its worker gave it up 1.3 s after it was read.
 */
const unseenBy = ({ posts }: Receivers, disturbances: Disturbances): ReadonlySet<string> =>
  new Set(
    posts
      .filter(({ at }) => disturbances.during(at - LONGEST_TIMEOUT_MS, at + LONGEST_TIMEOUT_MS))
      .map(({ deliveryId }) => deliveryId)
  )

const judgedOf = (
  history: History,
  found: ReadonlyArray<Found>,
  notified: ReadonlyArray<string>,
  receivers: Receivers,
  disturbances: Disturbances,
  clocks: Clocks
): Judged => {
  const posts = timed(receivers, disturbances, clocks)
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
    posts: posts.filter(({ deliveryId }) => published.has(deliveryId)),
    answered: receivers.answered,
    unseen: unseenBy(receivers, disturbances),
    lagMs: (at) => disturbances.lag(at),
    secrets: history.secrets,
    poison: receivers.poison,
    retryDelayMs: RETRY_DELAY_MS,
    requestTimeoutMs: (endpointId) => leastTimeoutMs(history, endpointId),
    rates: history.rates,
    begins: beginsOf(history, posts),
    endpointChanges: history.endpointChanges.flatMap((one) =>
      receivers.senders.map((_, worker) => ({ ...one, worker }))
    ),
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
  clocks: Clocks,
  plan: Plan
) => {
  const log = await query<Logged & { readonly [column: string]: unknown }>(LOGGED)
  const notified = await query<{ id: string }>(
    "select delivery_id as id from posthorn.notifications where kind = 'delivery_dead_lettered'"
  )
  const attempts = await query<{ id: string; row: unknown }>(
    "select id, to_jsonb(a) as row from posthorn.attempts a"
  )
  const history = readHistory(log, plan.workspacePolicy)
  const judged = judgedOf(
    history,
    await query<Found>(DELIVERIES),
    notified.map(({ id }) => id),
    receivers,
    disturbances,
    clocks
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
  const [platform] = await query<{ id: string }>(
    `select id from posthorn.workspaces where slug = '${PLATFORM}'`
  )
  for (const [name, one] of Object.entries(operationLaws(log, platform!.id)))
    judgements[name] = { ...one, least: 1 }
  judgements["P1 the policy says how long to wait"] = {
    ...timeoutsAreThePolicies(history, judged),
    of: "attempts that timed out",
    least: 0
  }
  return { judged, laws: judgements, log }
}
