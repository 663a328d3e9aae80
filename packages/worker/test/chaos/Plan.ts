/** What a seed determines: events, faults and orders, each with its moment. The same seed gives the same plan. */
import type { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { type Chance, makeChance } from "../simulation/VirtualTime.ts"
import { faultPool, ordersOf, type Pool, SPARE } from "./ActionPools.ts"
import { type Action, type Fault, MANNERS, type Manner, type Role, type Roles } from "./Actions.ts"
import { policyOrNone, RATED, workspacePolicyOf } from "./Policies.ts"

/** The number of processes, and whether they are only killed. */
export interface Size {
  readonly workers: number
  readonly servers: number
  readonly onlyKills: boolean
}

export const USUAL: Size = { workers: 2, servers: 1, onlyKills: false }

export const rolesOf = ({ servers, workers }: Size): Roles => ({
  workers: Array.from({ length: workers }, (_, n) => `worker ${n}` as const),
  servers: Array.from({ length: servers }, (_, n) => `server ${n}` as const)
})

export interface Step {
  readonly at: number
  readonly action: Action
}

export interface Plan {
  readonly seed: number
  /** Behaviours of the endpoints, by number. */
  readonly endpoints: ReadonlyArray<Manner>
  /** Their delivery policies, and the workspace's. */
  readonly policies: ReadonlyArray<DeliveryPolicy | null>
  readonly workspacePolicy: DeliveryPolicy | null
  readonly steps: ReadonlyArray<Step>
  readonly poison: boolean
}

const EVENTS_A_SECOND = 30
/** Poison kills seven workers one after another; a short run has no time for that. */
const POISON_FROM_SECONDS = 60
const FAULT_EVERY_MS = 1_500
/** The gap between kills in a run whose only fault is that processes are killed. */
const KILL_EVERY_MS = 20_000
const ORDER_EVERY_MS = 5_000
/** Retention keeps this part of the run's time, and runs after these parts of it. */
const KEPT_PART = 0.3
const RETAINED_AT = [0.4, 0.55, 0.7, 0.85, 1]
/** The longest time that a publisher's transaction stays open. */
const LATEST_COMMIT_MS = 6_000

const shuffled = <A>(chance: Chance, items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const rest = [...items]
  return items.map(() => rest.splice(chance.below(rest.length), 1)[0]!)
}

/** One process after another, whatever the seed; each is restarted at once. */
const kills = (chance: Chance, troubleMs: number, { servers, workers }: Roles): ReadonlyArray<Step> =>
  Array.from({ length: Math.floor(troubleMs / KILL_EVERY_MS) }, (_, n) => ({
    at: (n + 0.5) * KILL_EVERY_MS,
    action: {
      kind: "kill",
      who: chance.oneOf<Role>([...workers, ...servers]),
      down: chance.between(100, 1_500)
    }
  }))

/** The whole pool at least once, and then a fault at regular intervals. */
const dealtFrom = (chance: Chance, pool: Pool, troubleMs: number, every: number): ReadonlyArray<Step> => {
  const count = Math.max(pool.length, Math.round(troubleMs / every))
  const dealt: Array<() => Fault> = []
  while (dealt.length < count) dealt.push(...shuffled(chance, pool))
  const from = 1_000
  return dealt.slice(0, count).map((action, n) => ({
    at: from + ((n + chance.number()) / count) * (troubleMs - from),
    action: action()
  }))
}

/** A third of the events in bursts, so that receivers that refuse fail often enough in a row to be disabled. */
const events = (chance: Chance, troubleMs: number, endpoints: number): ReadonlyArray<Step> =>
  Array.from({ length: Math.round((troubleMs / 1_000) * EVENTS_A_SECOND) }, () => {
    const at = chance.number() * troubleMs
    const late = chance.happens(0.2) ? chance.between(0, LATEST_COMMIT_MS) : chance.between(0, 20)
    return {
      at: chance.happens(0.3) ? Math.floor(at / 2_000) * 2_000 : at,
      action: {
        kind: "publish" as const,
        to: chance.happens(0.15) ? MANNERS.indexOf("gone") : chance.below(endpoints),
        by: chance.oneOf(["rest", "rest", "batch", "sql"] as const),
        late,
        commits: chance.happens(0.75)
      }
    }
  })

/** Events only, for runs that bring faults of their own. */
export const publishesOf = (seed: number, seconds: number): Plan => {
  const steps = events(makeChance(seed), seconds * 1_000, MANNERS.length)
  const plain = { policies: MANNERS.map(() => null), workspacePolicy: null, poison: false }
  return { seed, endpoints: MANNERS, ...plain, steps: steps.toSorted((a, b) => a.at - b.at) }
}

const faults = (chance: Chance, troubleMs: number, size: Size): ReadonlyArray<Step> => {
  const longest = Math.min(12_000, Math.max(6_000, troubleMs / 3))
  const orders = ordersOf(chance, troubleMs)
  return size.onlyKills
    ? [...kills(chance, troubleMs, rolesOf(size)), ...dealtFrom(chance, orders, troubleMs, ORDER_EVERY_MS)]
    : dealtFrom(chance, [...faultPool(chance, longest, rolesOf(size)), ...orders], troubleMs, FAULT_EVERY_MS)
}

/** Starts when there is old history; the cut-off is the same for all runs. */
const retentionRuns = (troubleMs: number): ReadonlyArray<Step> =>
  RETAINED_AT.map((part) => ({
    at: part * troubleMs,
    action: { kind: "retention", keptMs: KEPT_PART * troubleMs }
  }))

export const planOf = (seed: number, seconds: number, size: Size): Plan => {
  const chance = makeChance(seed)
  const endpoints: ReadonlyArray<Manner> = [...MANNERS, ...SPARE]
  const poison = seconds >= POISON_FROM_SECONDS && !size.onlyKills
  const steps = [
    ...events(chance, seconds * 1_000, endpoints.length),
    ...faults(chance, seconds * 1_000, size),
    ...(size.onlyKills ? [] : retentionRuns(seconds * 1_000)),
    ...(poison ? [{ at: 5_000, action: { kind: "poison" as const } }] : [])
  ]
  const policies = endpoints.map((manner, n) => (n === 0 && manner === "ok" ? RATED : policyOrNone(chance)))
  const workspacePolicy = chance.happens(0.5) ? workspacePolicyOf(chance) : null
  return { seed, endpoints, policies, workspacePolicy, poison, steps: steps.toSorted((a, b) => a.at - b.at) }
}
