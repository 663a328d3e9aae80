/**
 * The pools from which a plan draws its actions. Each fault and each order is drawn as often as it is listed, before any is
 * drawn again.
 */
import type { Chance } from "../simulation/VirtualTime.ts"
import { type Fault, MANNERS, type Manner, type Role, type Roles, type SessionOrder } from "./Actions.ts"
import { policyOrNone } from "./Policies.ts"

/** Endpoints that may be deleted or get another URL; of the others, one for each behaviour stays unchanged. */
export const SPARE: ReadonlyArray<Manner> = ["slow", "grudge", "flaky"]

/** Endpoints that have something to replay: their deliveries are given up, or they miss events. */
const LOSING = (["gone", "grudge", "flaky", "reset", "nonsense"] as const).map((manner) =>
  MANNERS.indexOf(manner)
)

/** How far clocks jump: a step of NTP, minutes that a worker tolerates, a wrong time zone, a machine that lost its date. */
const CLOCKS_OFF = [-31_536_000_000, -200_000, -1_500, 1_500, 200_000, 3_600_000] as const

export type Pool = ReadonlyArray<() => Fault>

export const faultPool = (chance: Chance, longest: number, { servers, workers }: Roles): Pool => {
  const who = () => chance.oneOf<Role>([...workers, ...servers])
  const worker = () => chance.oneOf(workers)
  const kill = () => ({ kind: "kill" as const, who: worker(), down: chance.between(100, 1_500) })
  const lose = () => ({
    kind: "lose" as const,
    ...chance.oneOf([
      { who: worker(), statement: "posthorn.record" },
      { who: worker(), statement: "posthorn.load" },
      { who: worker(), statement: "posthorn.due" },
      { who: worker(), statement: "posthorn.due" },
      { who: servers[0]!, statement: "COMMIT" },
      { who: servers[0]!, statement: "publish_events" }
    ])
  })
  const clock = () => ({
    kind: "clock" as const,
    who: who(),
    offMs: chance.oneOf(CLOCKS_OFF),
    ms: chance.between(2_000, 10_000)
  })
  return [
    kill,
    kill,
    () => ({ kind: "kill", who: servers[0]!, down: chance.between(100, 1_000) }),
    () => ({ kind: "end", who: who(), down: chance.between(100, 1_000) }),
    () => ({ kind: "freeze", who: worker(), ms: chance.between(200, 1_500) }),
    () => ({ kind: "freeze", who: worker(), ms: chance.between(5_500, longest) }),
    () => ({ kind: "delay", who: who(), ms: chance.between(1_000, 5_000), each: chance.between(5, 250) }),
    () => ({ kind: "hold", who: who(), ms: chance.between(200, 2_000) }),
    () => ({ kind: "hold", who: worker(), ms: chance.between(5_500, longest) }),
    () => ({ kind: "cut", who: who() }),
    () => ({ kind: "forget", who: worker() }),
    lose,
    lose,
    () => ({ kind: "restart", down: chance.between(0, 1_500) }),
    () => ({ kind: "crash", down: 0 }),
    () => ({ kind: "drop sessions" }),
    () => ({ kind: "read only", ms: chance.between(1_000, 6_000) }),
    () => ({ kind: "disk full", ms: chance.between(1_000, 5_000) }),
    () => ({
      kind: "isolation",
      level: chance.oneOf(["serializable", "repeatable read"] as const),
      ms: chance.between(1_000, 6_000)
    }),
    () => ({ kind: "foreign session", ms: chance.between(500, 3_000), seed: chance.between(1, 1_000_000) }),
    clock,
    () => ({ ...clock(), who: workers[0]! }),
    () => ({ ...clock(), who: servers[0]! })
  ]
}

/** Orders that people give meanwhile. */
export const ordersOf = (chance: Chance, troubleMs: number): Pool => {
  const to = () => chance.below(MANNERS.length + SPARE.length)
  const replay = () => ({
    kind: "replay" as const,
    of: chance.oneOf(LOSING),
    includeMissed: chance.happens(0.7),
    retried: chance.happens(0.3),
    cancelAfter: null
  })
  const session = (ends: SessionOrder["ends"]) => ({
    kind: "session" as const,
    ends,
    ms: chance.between(1_000, Math.min(15_000, troubleMs / 4))
  })
  const spare = () => MANNERS.length + chance.below(SPARE.length)
  return [
    () => ({ kind: "disable", to: to(), ms: chance.between(300, 4_000) }),
    () => ({ kind: "disable", to: to(), ms: chance.between(300, 4_000) }),
    () => ({ kind: "rotate", to: to() }),
    () => ({ kind: "rotate", to: to() }),
    () => ({ kind: "rotate", to: to() }),
    () => ({ kind: "delete", to: spare() }),
    () => ({ kind: "repoint", to: spare(), manner: chance.oneOf(MANNERS) }),
    () => ({ kind: "repolicy", to: to(), policy: policyOrNone(chance) }),
    () => ({ kind: "repolicy", to: to(), policy: policyOrNone(chance) }),
    // Endpoints that their failures have disabled.
    () => ({ kind: "enable", to: MANNERS.indexOf("gone") }),
    () => replay(),
    () => replay(),
    () => ({ ...replay(), cancelAfter: chance.between(0, 500) }),
    () => session("sign-out"),
    () => session("revocation"),
    () => session("expiry")
  ]
}
