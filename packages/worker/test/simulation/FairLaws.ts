/** What the engine owes to failing receivers, and to the workspaces beside them. */
import type { Answered, Post } from "./Facts.ts"
import type { Judged, Law } from "./Judged.ts"
import { endpointOf } from "./Visibility.ts"

/** After so many failures in a row an endpoint gets one attempt at a time. */
const PROBES_AFTER = 3
/** The pauses before these attempts, in units of the retry delay; the last one holds from then on. */
const PAUSES = [1 / 8, 1 / 4, 1 / 2, 1] as const

type Step =
  | { readonly kind: "post"; readonly at: number; readonly test: boolean }
  | { readonly kind: "over"; readonly at: number; readonly test: boolean }
  | { readonly kind: "answer"; readonly at: number; readonly begunAt: number; readonly delivered: boolean }
  | { readonly kind: "reset"; readonly at: number }
  | { readonly kind: "endpointChanged"; readonly at: number }

/**
 * When a request was over. Its worker gives it up in time, but a busy receiver notices late: up to 107 ms after, and after
 * the next request had come (one run on a busy machine: given up at 0 ms, the next begun at 34, its bytes read at 78, the
 * old connection's close at 107). So an unanswered request counts as over at its deadline, computed from its known
 * beginning.
 */
const timesOf = (world: Judged) => {
  const { lagMs = () => 0, requestTimeoutMs } = world
  const begun = new Map<string, ReadonlyArray<number>>()
  const keyOf = ({ deliveryId, worker }: Pick<Post, "deliveryId" | "worker">) => `${deliveryId} ${worker}`
  for (const post of world.posts) begun.set(keyOf(post), [...(begun.get(keyOf(post)) ?? []), post.at])
  return (answer: Answered, endpointId: string): { readonly begunAt: number; readonly overAt: number } => {
    const post = begun.get(keyOf(answer))?.findLast((at) => at <= answer.at)
    const begunAt = post ?? answer.at
    if (answer.status !== null || requestTimeoutMs === undefined || post === undefined)
      return { begunAt, overAt: answer.at }
    return {
      begunAt,
      overAt: Math.min(answer.at, Math.max(post, post + requestTimeoutMs(endpointId) - lagMs(post)))
    }
  }
}

/** What one worker saw of one endpoint, and what may have told it that the endpoint recovered. */
const stepsOf = (world: Judged): ReadonlyMap<string, Array<Step>> => {
  const steps = new Map<string, Array<Step>>()
  const add = (worker: number, endpointId: string, step: Step) => {
    const key = `${endpointId} at worker ${worker}`
    steps.set(key, [...(steps.get(key) ?? []), step])
  }
  const times = timesOf(world)
  const isDelivered = ({ status }: Answered) => status !== null && status >= 200 && status < 300
  const addAnswer = (answer: Answered) => {
    const { at, deliveryId, worker } = answer
    const { endpointId, test = false } = endpointOf(world, deliveryId)
    const { begunAt, overAt } = times(answer, endpointId)
    add(worker, endpointId, { kind: "over", at: overAt, test })
    if (answer.uncounted === true) return
    add(worker, endpointId, { kind: "answer", at, begunAt, delivered: isDelivered(answer) })
  }
  // A success sorts before the posts of its instant: a waiting delivery may be loaded already, and is sent at that moment.
  for (const answer of world.answered) if (isDelivered(answer)) addAnswer(answer)
  for (const { again = false, at, deliveryId, worker } of world.posts) {
    const { endpointId, test = false } = endpointOf(world, deliveryId)
    if (!again) add(worker, endpointId, { kind: "post", at, test })
  }
  for (const answer of world.answered) if (!isDelivered(answer)) addAnswer(answer)
  for (const { at, endpointId, worker } of world.endpointChanges ?? [])
    add(worker, endpointId, { kind: "endpointChanged", at })
  const workers = new Set(world.posts.map(({ worker }) => worker))
  for (const fact of world.model.facts) {
    const recovered = fact.kind === "recorded" && fact.observed.status === "delivered"
    if (!recovered && fact.kind !== "enabled") continue
    const id = fact.kind === "recorded" ? fact.observed.endpointId : fact.endpointId
    for (const worker of workers) add(worker, id, { kind: "reset", at: fact.at })
  }
  for (const [key, those] of steps)
    steps.set(
      key,
      those.toSorted((a, b) => a.at - b.at)
    )
  return steps
}

/**
 * L17: after three attempts in a row that were not delivered, an endpoint's attempts are made one at a time, with pauses.
 * Events that a worker may not know yet count neither for it nor against it. The same holds for a failure answered shortly
 * after a success: on two connections, the worker may have read the success last, and then nothing has failed since. (In a
 * run of two minutes several hundred pairs of answers, a success and a failure, are within 5 ms of each other.) Test sends
 * do not wait. When the endpoint was repaired, the next probe is due at once, and what was read before says nothing about
 * it.
 */
export const pauses: Law = (world) =>
  [...stepsOf(world)].flatMap(([where, steps]) => {
    const problems: Array<string> = []
    /** When each failure since the last success was answered. */
    let failed: Array<number> = []
    let [inFlight, last, known, changedAt] = [0, 0, 0, Number.NEGATIVE_INFINITY]
    for (const step of steps) {
      const lag = world.lagMs?.(step.at) ?? 0
      if (step.kind === "reset") {
        failed = []
        known = Math.max(known, step.at + lag)
      } else if (step.kind === "endpointChanged") {
        failed = []
        changedAt = step.at
      } else if (step.kind === "over") {
        if (!step.test) inFlight -= 1
        last = step.at
      } else if (step.kind === "answer") {
        if (step.delivered) {
          failed = []
          known = Math.max(known, step.at + lag)
        } else if (step.at >= known && step.begunAt >= changedAt + world.reachMs(changedAt))
          failed.push(step.at)
      } else if (!step.test) {
        inFlight += 1
        const failures = failed.filter((at) => at <= step.at - lag).length
        if (failures < PROBES_AFTER) continue
        // The engine's clock is in whole milliseconds.
        const early = step.at - last < (PAUSES[failures - PROBES_AFTER] ?? 1) * world.retryDelayMs - 1
        if (inFlight > 1 || early)
          problems.push(`${where}: ${failures} failures, then ${inFlight} at once after ${step.at - last} ms`)
      }
    }
    return problems
  })

/** Posts that L17 judges. */
export const slowPosts = (world: Judged): number =>
  [...stepsOf(world).values()].reduce((sum, steps) => {
    let failed: Array<number> = []
    let count = 0
    for (const step of steps) {
      if (step.kind === "reset" || (step.kind === "answer" && step.delivered)) failed = []
      else if (step.kind === "answer") failed.push(step.at)
      else if (step.kind === "post") {
        const lag = world.lagMs?.(step.at) ?? 0
        if (failed.filter((at) => at <= step.at - lag).length >= PROBES_AFTER) count += 1
      }
    }
    return sum + count
  }, 0)
