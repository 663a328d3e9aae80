/**
 * The laws of everything that happened, in a simulated world or among real processes, whatever went wrong. Each law gives
 * its violations as sentences; none means that it held. Source: spec §3, §4.1, §6 and §3.4.
 */
import { inForce, type PolicyInForce } from "@posthorn/domain/DeliveryPolicy"
import { disablingReason, isUncounted, MAX_CLAIMS } from "@posthorn/domain/Verdict"
import { signWithKeys } from "@posthorn/signature"
import type { Fact } from "./Facts.ts"
import { pauses } from "./FairLaws.ts"
import type { Judged, Law } from "./Judged.ts"
import { changesAround, enabledAt, endpointOf, keysAt } from "./Visibility.ts"

type Recorded = Extract<Fact, { readonly kind: "recorded" }>

const recordedOf = (world: Judged) =>
  world.model.facts.filter((fact): fact is Recorded => fact.kind === "recorded")

const byDelivery = (world: Judged) => {
  const facts = new Map<string, Array<Recorded>>()
  for (const fact of recordedOf(world)) {
    const id = fact.observed.deliveryId
    facts.set(id, [...(facts.get(id) ?? []), fact])
  }
  return facts
}

const TERMINAL = new Set(["delivered", "failed_permanent", "dead_lettered"])

/** L1: every delivery is terminal or still in the queue, never both. */
const nothingLost: Law = ({ model }) =>
  [...model.deliveries.values()].flatMap(({ id, status }) => {
    const scheduled = model.queue.has(id)
    const terminal = TERMINAL.has(status)
    return terminal === scheduled
      ? [`${id} is ${status} and ${scheduled ? "still" : "not"} in the queue`]
      : []
  })

/** L2: after the faults, every delivery becomes terminal, unless its endpoint was disabled. */
const drainedMeansTerminal: Law = ({ model }) =>
  [...model.queue.values()].flatMap(({ deliveryId, endpointId }) =>
    model.endpoints.get(endpointId)!.enabled ? [`${deliveryId} is still in the queue`] : []
  )

/** The policy by which an attempt was judged. */
const policyOf = (world: Judged, { policy }: Recorded): PolicyInForce =>
  policy ?? inForce(null, null, { retryDelayMs: world.retryDelayMs, requestTimeoutMs: 0 })

/** L3: ordinals are 1, 2, …, as many as the counter says; none is greater than its policy allows. */
const ordinals: Law = (world) =>
  [...byDelivery(world)].flatMap(([id, facts]) => {
    const seen = facts.map(({ observed }) => observed.ordinal)
    const counter = world.model.deliveries.get(id)?.attempts ?? seen.length
    const allowed = facts
      .slice(0, -1)
      .every((fact) => fact.observed.ordinal <= policyOf(world, fact).waitsMs.length)
    const fine = seen.every((ordinal, n) => ordinal === n + 1) && allowed && seen.length === counter
    return fine ? [] : [`${id} has the ordinals ${seen} and the counter ${counter}`]
  })

/** L4: the summary is the last attempt's, and nothing follows a terminal one. */
const terminalIsFinal: Law = (world) =>
  [...byDelivery(world)].flatMap(([id, facts]) => {
    const early = facts.slice(0, -1).filter(({ observed }) => observed.status !== "failed")
    const last = facts.at(-1)!.observed
    const delivery = world.model.deliveries.get(id)
    const agrees =
      delivery === undefined || delivery.status === last.status || delivery.status === "dead_lettered"
    return [
      ...early.map(({ observed }) => `${id} went on after ${observed.status}`),
      ...(agrees ? [] : [`${id} is ${delivery.status}, its last attempt ${last.status}`])
    ]
  })

/** The Retry-After of an answer in seconds, if it has one. */
const ASKED = /"retry-after":"(\d+)"/

/** The earliest and latest wait after an attempt; null when it was the last. */
const waitsAfter = (world: Judged, fact: Recorded): readonly [number, number] | null => {
  const { honorRetryAfter, jitter, waitsMs } = policyOf(world, fact)
  const wait = waitsMs[fact.observed.ordinal - 1]
  if (wait === undefined) return null
  const asked = honorRetryAfter
    ? 1_000 * Number(ASKED.exec(fact.observed.responseHeaders ?? "")?.[1] ?? 0)
    : 0
  return [Math.round(Math.max(wait, asked)), Math.round(Math.max(wait * (1 + jitter), asked))]
}

/**
 * L5: attempt k + 1 does not begin before attempt k was recorded and the wait after it is over. The wait is that of the
 * policy that held then; without one, min(k, 6) delays to the millisecond. No delivery is given up before its last attempt.
 */
const schedule: Law = (world) =>
  [...byDelivery(world)].flatMap(([id, facts]) =>
    facts.flatMap((fact, n) => {
      if (fact.observed.status !== "failed") return []
      const bounds = waitsAfter(world, fact)
      const next = facts[n + 1]?.observed
      const wait = fact.observed.waitMs
      // Attempts of real processes are identified by their times only.
      const stored = wait === undefined || (wait === null) === (bounds === null)
      const within = wait == null || bounds === null || (bounds[0] <= wait && wait <= bounds[1])
      const early = next !== undefined && next.at < Math.floor(fact.at + (wait ?? bounds?.[0] ?? 0))
      return stored && within && !early
        ? []
        : [
            `${id} attempt ${fact.observed.ordinal}: waits ${wait} of ${bounds}${early ? ", and the next came too early" : ""}`
          ]
    })
  )

/** L6: what is recorded was sent, and answered so. */
const evidence: Law = (world) =>
  recordedOf(world).flatMap(({ observed }) => {
    const answered = world.answered.some(
      ({ deliveryId, status }) => deliveryId === observed.deliveryId && status === observed.httpStatus
    )
    const unseen = observed.httpStatus === null && world.unseen?.has(observed.deliveryId)
    return answered || unseen
      ? []
      : [`${observed.deliveryId} attempt ${observed.ordinal} was recorded but not answered`]
  })

/** L7: without disruptions nothing is sent twice; with them, at most what was in flight or unrecorded at each. */
const repeats: Law = (world) => {
  const attempts = new Map<string, number>()
  for (const { observed } of recordedOf(world)) {
    attempts.set(observed.deliveryId, (attempts.get(observed.deliveryId) ?? 0) + 1)
  }
  const posts = new Map<string, number>()
  for (const { deliveryId } of world.posts) posts.set(deliveryId, (posts.get(deliveryId) ?? 0) + 1)
  return [...posts].flatMap(([id, sent]) => {
    const allowed = (attempts.get(id) ?? 0) + world.repeatsOf(id)
    return sent <= allowed || !world.model.deliveries.has(id)
      ? []
      : [`${id} was sent ${sent} times, ${allowed} allowed`]
  })
}

/** L8: the streak and the disabling are a fold over what was committed, under the generation of each moment. */
const streaks: Law = (world) => {
  const streak = new Map<string, number>()
  const since = new Map<string, number>()
  const generation = new Map<string, number>()
  const off = new Set<string>()
  const problems: Array<string> = []
  for (const fact of world.model.facts) {
    if (fact.kind === "enabled") {
      streak.set(fact.endpointId, 0)
      generation.set(fact.endpointId, (generation.get(fact.endpointId) ?? 0) + 1)
      off.delete(fact.endpointId)
    } else if (fact.kind === "disabled") off.add(fact.endpointId)
    else if (fact.kind === "recorded") {
      const id = fact.observed.endpointId
      if (fact.observed.generation !== (generation.get(id) ?? 0)) {
        if (fact.streak !== null) problems.push(`${id}: an old generation counted`)
        continue
      }
      if (isUncounted(fact.observed.failureReason)) {
        if (fact.streak !== (streak.get(id) ?? 0) || fact.disables)
          problems.push(`${id}: an attempt counted that never reached it`)
        continue
      }
      const next = fact.observed.status === "delivered" ? 0 : (streak.get(id) ?? 0) + 1
      streak.set(id, next)
      if (next === 1) since.set(id, fact.at)
      const { disableAfter, onGone } = policyOf(world, fact)
      const rule =
        fact.observed.httpStatus === 410 && onGone === "disable" ? { kind: "gone" as const } : disableAfter
      const failingMs = fact.at - (since.get(id) ?? fact.at)
      const breaks = next > 0 && disablingReason(rule, { failures: next, failingMs }) !== null
      const disables = breaks && !off.has(id)
      if (disables) off.add(id)
      if (fact.streak !== next || fact.disables !== disables)
        problems.push(`${id}: streak ${fact.streak}, not ${next}`)
    }
  }
  return problems
}

/** L10: one notification for each dead letter, and none for others. */
const notices: Law = ({ model }) => {
  const told = new Map<string, number>()
  for (const id of model.notified) told.set(id, (told.get(id) ?? 0) + 1)
  return [...model.deliveries.values()].flatMap(({ id, status }) => {
    const [due, given] = [status === "dead_lettered" ? 1 : 0, told.get(id) ?? 0]
    return due === given ? [] : [`${id} is ${status} and has ${given} notifications`]
  })
}

/** L11: signed with the secrets active at dispatch, the current one first. */
const signatures: Law = (world) =>
  world.posts.flatMap(({ at, clockOff = 0, deliveryId, request }) => {
    const { endpointId } = endpointOf(world, deliveryId)
    const timestamp = request.headers["webhook-timestamp"]!
    const right = changesAround(world, at, endpointId).some(
      (moment) =>
        signWithKeys(deliveryId, timestamp, request.body, keysAt(world, endpointId, moment)) ===
        request.headers["webhook-signature"]
    )
    // Signed timestamps have whole seconds, so the data may have been read up to a second earlier.
    return right && Math.abs(Number(timestamp) * 1000 - at - clockOff) < 1_000 + world.reachMs(at)
      ? []
      : [`${deliveryId} was signed wrongly at ${at}`]
  })

/** L12: nothing is started for an endpoint that is disabled or deleted. */
const nothingWhileOff: Law = (world) =>
  world.posts.flatMap(({ at, deliveryId }) => {
    const { endpointId } = endpointOf(world, deliveryId)
    return changesAround(world, at, endpointId).some((moment) => enabledAt(world, endpointId, moment))
      ? []
      : [`${deliveryId} was sent while off`]
  })

/** L15: nothing is left of a deleted endpoint. */
const nothingOfTheDeleted: Law = ({ model }) =>
  [...model.deliveries.values()].flatMap(({ endpointId, id }) =>
    model.endpoints.get(endpointId)!.deleted ? [`${id} outlived its endpoint`] : []
  )

/** L16: poison is given up after seven posts, or after the death of seven workers that held it; no other delivery is. */
const poison: Law = (world) => {
  const attempts = byDelivery(world)
  const given = world.model.facts.flatMap((fact) => (fact.kind === "dead_lettered" ? [fact.deliveryId] : []))
  const isSpent = (id: string) => {
    const last = attempts.get(id)?.at(-1)
    return last !== undefined && waitsAfter(world, last) === null
  }
  const innocent = given.filter((id) => id !== world.poison && !isSpent(id))
  const sent = world.posts.filter(({ deliveryId }) => deliveryId === world.poison).length
  const held = world.poison === null ? 0 : (world.holdersLost?.(world.poison) ?? MAX_CLAIMS)
  const tooEarly = given.filter((id) => id === world.poison && Math.max(sent, held) < MAX_CLAIMS)
  return [
    ...tooEarly.map((id) => `the poison ${id} was given up after ${sent} posts and ${held} dead workers`),
    ...innocent.map((id) => `${id} was given up after ${attempts.get(id)?.length ?? 0} attempts`),
    ...(sent > MAX_CLAIMS + 1 ? [`the poison was sent ${sent} times`] : [])
  ]
}

const inTime = (
  world: Judged,
  until: ((deliveryId: string) => number) | undefined
): ReadonlyArray<string> => {
  if (until === undefined) return []
  const first = new Map<string, number>()
  for (const { at, deliveryId } of world.posts) if (!first.has(deliveryId)) first.set(deliveryId, at)
  return [...world.model.deliveries.keys()].flatMap((id) => {
    const deadline = until(id)
    const sent = first.get(id) ?? Number.POSITIVE_INFINITY
    return deadline === Number.POSITIVE_INFINITY || sent <= deadline
      ? []
      : [`${id} was sent ${Math.round(sent - deadline)} ms too late`]
  })
}

/** L18: a workspace with few requests in flight is served in time, whatever hangs in another. */
const fair: Law = (world) => inTime(world, world.fairUntil)

/**
 * L19: deliveries without a heard notification are sent in time: by polling while nobody listens, by rewinding otherwise.
 */
const prompt: Law = (world) => inTime(world, world.promptUntil)

/** L20: nothing is started by a worker that is not sure of its shards. */
const fence: Law = (world) =>
  world.posts.flatMap(({ at, deliveryId, sure, worker }) =>
    sure === false
      ? [`${deliveryId} was sent at ${at} by worker ${worker}, which was not sure of its shards`]
      : []
  )

const beginsByPosts = (world: Judged): ReadonlyMap<string, ReadonlyArray<number>> => {
  const sent = new Map<string, Array<number>>()
  for (const post of world.posts) {
    if (post.again || world.isStray?.(post)) continue
    const { endpointId } = endpointOf(world, post.deliveryId)
    sent.set(endpointId, [...(sent.get(endpointId) ?? []), post.at])
  }
  return sent
}

/** L21: in no window of an endpoint's rate are more attempts begun, from when its last change must be known. */
const rates: Law = (world) => {
  const { begins = beginsByPosts(world), rates: changes = [] } = world
  return changes.flatMap(({ at, endpointId, limit }, n) => {
    if (limit === null) return []
    const from = at === 0 ? 0 : at + world.reachMs(at)
    const next = changes.find((change, m) => m > n && change.endpointId === endpointId)
    const until = next?.at ?? Number.POSITIVE_INFINITY
    const times = (begins.get(endpointId) ?? []).filter((time) => time >= from && time < until)
    return times.flatMap((first, m) => {
      const last = times[m + limit.requests]
      const slack = world.lagMs?.(first) ?? 1e-6
      return last === undefined || last - first >= limit.perSeconds * 1_000 - slack
        ? []
        : [
            `${endpointId}: ${limit.requests + 1} attempts from ${first} to ${last}, not within ${limit.perSeconds} s`
          ]
    })
  })
}

export const laws: Readonly<Record<string, Law>> = {
  "L1 nothing is lost": nothingLost,
  "L2 drained means terminal": drainedMeansTerminal,
  "L3 ordinals": ordinals,
  "L4 terminal is final": terminalIsFinal,
  "L5 schedule": schedule,
  "L6 evidence": evidence,
  "L7 repeats": repeats,
  "L8 streaks": streaks,
  "L10 notices": notices,
  "L11 signatures": signatures,
  "L12 nothing while off": nothingWhileOff,
  "L15 nothing of the deleted": nothingOfTheDeleted,
  "L16 poison": poison,
  "L17 pauses": pauses,
  "L18 fair": fair,
  "L19 prompt": prompt,
  "L20 fence": fence,
  "L21 rates": rates
}

export const violations = (world: Judged): ReadonlyArray<string> =>
  Object.entries(laws).flatMap(([name, law]) => law(world).map((violation) => `${name}: ${violation}`))
