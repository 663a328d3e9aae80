/**
 * Real processes on a PostgreSQL with real replication. Its primary is killed, and its roles are switched, while events are
 * published and delivered; then the laws of the chaos run judge the result.
 *
 * Replication is synchronous, so acknowledged events must exist afterwards. Nobody restarts or notifies the processes: each
 * has both hosts in its DATABASE_URL.
 */

import { makeBundle } from "@posthorn/testkit/Command"
import { pooled } from "@posthorn/testkit/Pooler"
import * as Receiver from "@posthorn/testkit/Receiver"
import * as ReplicatedCluster from "@posthorn/testkit/ReplicatedCluster"
import { Effect, type Scope } from "effect"
import type { Roles } from "../chaos/Actions.ts"
import { logChanges } from "../chaos/ChangeLog.ts"
import { settle, targetsOf } from "../chaos/Chaos.ts"
import { queryOn } from "../chaos/ChaosInstallation.ts"
import { Disturbances, pause } from "../chaos/Disturbances.ts"
import { judge, type LawJudgement } from "../chaos/Judging.ts"
import { publishesOf, rolesOf, USUAL } from "../chaos/Plan.ts"
import { runProcesses, SLUG } from "../chaos/Processes.ts"
import { makePublishers, type Publishers } from "../chaos/Publishers.ts"
import { Receivers } from "../chaos/Receivers.ts"

/** How long a supervisor takes to be sure that a primary is dead; Patroni's default is up to 30 s. */
const NOTICED_MS = 2_000
const AT_LEAST_MS = 30_000
/** The time until the remaining server is made a standby: copying it keeps the disk busy. */
const MENDED_MS = 3_000

/**
 * Reported, but not judged. The law gives a worker 100 ms to hear of an answer, and a busy machine may need more: a run with
 * seed 1 at a load of 14 on two cores broke it three times, with posts between 1 ms and 276 ms after the last answer.
 */
const NOT_JUDGED = "L17 pauses"

export interface Switch {
  readonly kind: "kill" | "planned"
  /** When the primary was gone, and when the standby had been promoted. */
  readonly gone: number
  readonly back: number
}

/** How long `serve` acknowledged nothing, and how long after the promotion it did again. */
export interface Gap extends Switch {
  readonly published: number
  readonly publishedAfter: number
  /** From the promotion to the first attempt of an event published after it. */
  readonly deliveredAfter: number
}

export interface Outcome {
  readonly gaps: ReadonlyArray<Gap>
  readonly laws: Readonly<Record<string, LawJudgement>>
  readonly unjudged: Readonly<Record<string, LawJudgement>>
  readonly acknowledged: number
  readonly lost: number
  readonly posts: number
  readonly attempts: number
  /** Posts of a delivery beyond its recorded attempts. */
  readonly repeated: number
  /** Starts of processes beyond the first. */
  readonly restarts: number
  readonly calmMs: number
  readonly logs: ReadonlyArray<string>
}

const gapOf = (
  one: Switch,
  answered: ReadonlyArray<number>,
  attempted: ReadonlyArray<{ readonly published: number; readonly at: number }>
): Gap => {
  const before = Math.max(...answered.filter((at) => at <= one.gone))
  const after = Math.min(...answered.filter((at) => at > one.back))
  const first = Math.min(...attempted.filter(({ published }) => published > one.back).map(({ at }) => at))
  return {
    ...one,
    published: after - before,
    publishedAfter: after - one.back,
    deliveredAfter: first - one.back
  }
}

/** Each role's database URL: both hosts, for the servers through poolers if wanted. */
const urlsOf = (cluster: ReplicatedCluster.ReplicatedCluster, pooler: boolean) =>
  Effect.gen(function* () {
    if (!pooler) return () => cluster.url
    const [first, second] = [
      new URL(yield* pooled(cluster.primary())),
      new URL(yield* pooled(cluster.standby()))
    ]
    const throughPoolers = first.href.replace(first.host, `${first.host},${second.host}`)
    return (role: string) => (role.startsWith("server") ? throughPoolers : cluster.url)
  })

/** Ends the primary, promotes the standby, and makes the remaining server a standby again. */
const change = async (
  cluster: ReplicatedCluster.ReplicatedCluster,
  kind: Switch["kind"],
  disturbances: Disturbances,
  say: (line: string) => void
): Promise<Switch> => {
  const told = { kind, gone: Date.now(), back: 0 }
  await disturbances.while(async () => {
    await Effect.runPromise(kind === "kill" ? cluster.kill : cluster.stop)
    say(kind === "kill" ? "the primary is killed" : "the primary is stopped")
    if (kind === "kill") await pause(NOTICED_MS)
    await Effect.runPromise(cluster.promote)
    told.back = Date.now()
    say("the standby is primary")
    await pause(MENDED_MS)
    await Effect.runPromise(cluster.follow)
    say("the other follows it")
  })
  return told
}

const publishAll = async (publishers: Publishers, steps: ReturnType<typeof publishesOf>["steps"]) => {
  const began = Date.now()
  for (const { action, at } of steps) {
    if (began + at > Date.now()) await pause(began + at - Date.now())
    if (action.kind === "publish") publishers.publish(action)
  }
  await Promise.all(publishers.running)
}

/** Publishes for a number of seconds, with a change of primary about every half minute: killed, planned, killed … */
export const failover = (
  seed: number,
  seconds: number,
  pooler: boolean,
  say: (line: string) => void
): Effect.Effect<Outcome, never, Scope.Scope> =>
  Effect.gen(function* () {
    yield* Effect.promise(makeBundle)
    const cluster = yield* ReplicatedCluster.make
    yield* Effect.promise(() => logChanges(cluster.primary()))
    const roles: Roles = rolesOf(USUAL)
    const running = yield* runProcesses(roles, yield* urlsOf(cluster, pooler))
    const receivers = new Receivers(seed, () => undefined)
    const receiver = yield* Receiver.make({ behaviours: receivers.behaviours })
    const plan = publishesOf(seed, seconds)
    const targets = targetsOf(plan, running, (path) => receiver.url(path))
    const publishers = makePublishers(SLUG, running.call, cluster.primary)
    const disturbances = new Disturbances()
    const query = queryOn(cluster.primary)
    return yield* Effect.promise(async (): Promise<Outcome> => {
      for (const n of plan.endpoints.keys()) await targets.create(n)
      disturbances.watch()
      const count = Math.max(2, Math.floor((seconds * 1_000) / AT_LEAST_MS))
      const began = Date.now()
      const load = publishAll(publishers, plan.steps)
      const switches: Array<Switch> = []
      for (let n = 0; n < count; n++) {
        const at = began + ((n + 0.4) / count) * seconds * 1_000
        await pause(Math.max(0, at - Date.now()))
        switches.push(await change(cluster, n % 2 === 0 ? "kill" : "planned", disturbances, say))
      }
      await load
      receivers.calm = true
      for (const id of targets.ids) await running.call("PATCH", `/webhooks/${id}`, { enabled: true })
      say("everything is published")
      const calmMs = await settle(query)
      disturbances.stopWatching()
      const { judged, laws: all } = await judge(
        query,
        receivers,
        publishers,
        disturbances,
        running.clocks,
        plan
      )
      const { [NOT_JUDGED]: told, ...laws } = all
      const attempts = judged.model.facts.filter(({ kind }) => kind === "recorded").length
      const published = new Map(
        judged.model.facts.flatMap((fact) => (fact.kind === "published" ? [[fact.deliveryId, fact.at]] : []))
      )
      const attempted = judged.posts.map(({ at, deliveryId }) => ({
        at,
        published: published.get(deliveryId) ?? 0
      }))
      const answered = publishers.acknowledged.flatMap(({ at, key }) => (publishers.sql.has(key) ? [] : [at]))
      return {
        gaps: switches.map((one) => gapOf(one, answered, attempted)),
        laws,
        unjudged: { [NOT_JUDGED]: told! },
        acknowledged: publishers.acknowledged.length,
        lost: laws["I1 answered means stored"]!.violations.length,
        posts: judged.posts.length,
        attempts,
        repeated: judged.posts.length - attempts,
        restarts: [...running.processes.values()].reduce((sum, { starts }) => sum + starts - 1, 0),
        calmMs,
        logs: [...running.processes.values()].flatMap(({ log }) => log)
      }
    })
  })
