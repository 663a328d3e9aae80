/**
 * A run: real processes and a real PostgreSQL, a plan of events and faults, then a calm phase until everything is finished,
 * then judgement by the laws of the simulation and of an installation.
 */

import { makeBundle } from "@posthorn/testkit/Command"
import * as Receiver from "@posthorn/testkit/Receiver"
import { Effect } from "effect"
import type { Judged } from "../simulation/Judged.ts"
import { install, type Query } from "./ChaosInstallation.ts"
import { Disturbances, pause } from "./Disturbances.ts"
import { type Faults, makeFaults, type Targets } from "./Faults.ts"
import { judge, type LawJudgement } from "./Judging.ts"
import { type Line, makeMeterSums } from "./MeterSums.ts"
import { type Plan, planOf, type Size } from "./Plan.ts"
import { type Processes, roleOf, SLUG } from "./Processes.ts"
import { judgeProduct } from "./ProductLaws.ts"
import { makePublishers } from "./Publishers.ts"
import { POISON, Receivers } from "./Receivers.ts"

/** In the calm phase, the longest time without progress; the total time depends on the length of the run. */
const CALM_MS = 90_000
const LOOK_MS = 250

export interface Verdict {
  readonly plan: Plan
  readonly judged: Judged
  readonly done: ReadonlyMap<string, number>
  readonly laws: Readonly<Record<string, LawJudgement>>
  readonly meters: Readonly<Record<string, Line>>
  readonly calmMs: number
  readonly stalls: { readonly count: number; readonly ms: number }
  /** Log lines of the processes, except those about an unreachable database. */
  readonly logs: ReadonlyArray<string>
}

/** Endpoints by number: each subscribes to the events of its number, the first also to the poison event. */
export const targetsOf = (plan: Plan, { call }: Processes, urlOf: (path: string) => string): Targets => {
  const ids: Array<string> = []
  const create = async (n: number) => {
    const url = urlOf(`/${plan.endpoints[n]}`)
    const { body } = await call("POST", "/webhooks", {
      url,
      eventTypes: [`e.n${n}`],
      policy: plan.policies[n]
    })
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
    + (select count(*) from posthorn.dead_letters)
    + (select count(*) from posthorn.replays r join posthorn.endpoints e
      on e.workspace_id = r.workspace_id and e.id = r.endpoint_id where e.enabled and r.state = 'running') as n,
    (select count(*) from posthorn.attempts) as attempts`

/** Waits until everything that can be delivered is finished, or nothing is tried any more; gives the duration. */
export const settle = async (query: Query) => {
  const began = Date.now()
  let seen = ""
  let movedAt = began
  while (Date.now() - movedAt < CALM_MS) {
    const [row] = await query<{ n: string; attempts: string }>(UNFINISHED)
    if (Number(row!.n) === 0) break
    const now = `${row!.n} ${row!.attempts}`
    if (now !== seen) movedAt = Date.now()
    seen = now
    await pause(LOOK_MS)
  }
  return Date.now() - began
}

/** Runs the plan of this seed; `say` reports progress. */
export const chaos = (seed: number, seconds: number, size: Size, say: (line: string) => void) =>
  Effect.gen(function* () {
    yield* Effect.promise(makeBundle)
    const plan = planOf(seed, seconds, size)
    const disturbances = new Disturbances()
    const installation = yield* install(size)
    const sums = makeMeterSums(installation)
    let faults: Faults | null = null
    const receivers = new Receivers(seed, (sender) => faults?.poisoned(roleOf(sender)))
    const receiver = yield* Receiver.make({ behaviours: receivers.behaviours })
    const targets = targetsOf(plan, installation, (path) => receiver.url(path))
    const publishers = makePublishers(SLUG, installation.call, () => installation.databaseUrl)
    const playing = makeFaults(installation, targets, disturbances, sums)
    faults = playing
    return yield* Effect.promise(async (): Promise<Verdict> => {
      for (const call of [installation.call, installation.callPlatform])
        await call("PATCH", "/settings", { policy: plan.workspacePolicy })
      for (const manner of ["ok", "gone"])
        await installation.callPlatform("POST", "/webhooks", {
          url: receiver.url(`/${manner}`),
          eventTypes: ["*"]
        })
      for (const n of plan.endpoints.keys()) await targets.create(n)
      say(`${plan.steps.length} steps in ${seconds} s, with ${plan.endpoints.length} endpoints`)
      if (installation.disk === null) say("the disk is not filled: mounting is not allowed here")
      const began = Date.now()
      disturbances.watch()
      sums.watch()
      for (const { action, at } of plan.steps) {
        if (began + at > Date.now()) await pause(began + at - Date.now())
        if (action.kind === "publish") publishers.publish(action)
        else if (action.kind === "poison") void publishPoison(installation, receiver.url("/ok"))
        else playing.commit(action)
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
      await sums.finish()
      const { clocks, query } = installation
      const { log, ...engine } = await judge(query, receivers, publishers, disturbances, clocks, plan)
      const { judged } = engine
      const product = await judgeProduct(installation, playing, judged, log, size.onlyKills ? 0 : seconds)
      const logs = [...installation.processes.values()].flatMap(({ log }) => log)
      const meters = sums.judge(log, publishers.sql, size.onlyKills)
      say(`judged`)
      const laws = { ...engine.laws, ...product }
      return { plan, judged, stalls: disturbances.stalls, done: playing.done, laws, meters, calmMs, logs }
    })
  }).pipe(Effect.scoped)
