/** What a seed says will happen: events, faults and orders, each with its moment. The same seed gives the same plan. */
import { type Chance, makeChance } from "../simulation/VirtualTime.ts"

/** Who can be hurt. */
export type Role = "worker 0" | "worker 1" | "server"

export const WORKERS = ["worker 0", "worker 1"] as const
const ROLES: ReadonlyArray<Role> = [...WORKERS, "server"]

/** How a receiver behaves; see Receivers.ts. */
export const MANNERS = ["ok", "flaky", "slow", "grudge", "gone", "reset", "nonsense", "hang"] as const
export type Manner = (typeof MANNERS)[number]

export interface Publish {
  readonly kind: "publish"
  readonly to: number
  readonly by: "rest" | "batch" | "sql"
  /** A transaction stays open for so many milliseconds, and then it commits or does not. */
  readonly late: number
  readonly commits: boolean
}

/** One member for each kind, so that a kind tells which it is. */
type Each<Kind extends string, Facts> = Kind extends string ? Facts & { readonly kind: Kind } : never

/** Of a process: ended with or without warning, and back `down` ms later; or it stands still. */
export type ProcessFault =
  | Each<"kill" | "end", { readonly who: Role; readonly down: number }>
  | { readonly kind: "freeze"; readonly who: Role; readonly ms: number }

/** Of a line to the database: see DatabaseLine.ts. */
export type LineFault =
  | { readonly kind: "hold"; readonly who: Role; readonly ms: number }
  | { readonly kind: "delay"; readonly who: Role; readonly ms: number; readonly each: number }
  | Each<"cut" | "forget", { readonly who: Role }>
  | { readonly kind: "lose"; readonly who: Role; readonly statement: string }

/** Of PostgreSQL: stopped and started as an administrator would, or crashed. */
export type DatabaseFault = Each<"restart" | "crash", { readonly down: number }>

/** About an endpoint, over REST. */
export type Order =
  | { readonly kind: "disable"; readonly to: number; readonly ms: number }
  | Each<"rotate" | "delete" | "enable", { readonly to: number }>
  | { readonly kind: "repoint"; readonly to: number; readonly manner: Manner }

export type Fault = ProcessFault | LineFault | DatabaseFault | Order

export type Act = Publish | Fault | { readonly kind: "poison" }

export interface Step {
  readonly at: number
  readonly act: Act
}

export interface Plan {
  readonly seed: number
  /** Manners of the endpoints, by number. */
  readonly endpoints: ReadonlyArray<Manner>
  readonly steps: ReadonlyArray<Step>
  readonly poison: boolean
}

/** Endpoints that may be deleted, or get another URL; of the others one for each manner stays. */
const SPARE: ReadonlyArray<Manner> = ["slow", "grudge", "flaky"]

const EVENTS_A_SECOND = 30
/** Poison kills seven workers one after the other; a short run has no time for that. */
const POISON_FROM_SECONDS = 60
/** The longest that a publisher's transaction stays open. */
const LATEST_COMMIT_MS = 6_000

/** Each kind of fault as often as it stands here, before any comes again. */
const deckOf = (chance: Chance, longest: number): ReadonlyArray<() => Fault> => {
  const who = () => chance.oneOf(ROLES)
  const worker = () => chance.oneOf(WORKERS)
  const to = () => chance.below(MANNERS.length + SPARE.length)
  const spare = () => MANNERS.length + chance.below(SPARE.length)
  const kill = () => ({ kind: "kill" as const, who: worker(), down: chance.between(100, 1_500) })
  const lose = () => ({
    kind: "lose" as const,
    ...chance.oneOf([
      { who: worker(), statement: "posthorn.record" },
      { who: worker(), statement: "posthorn.load" },
      { who: worker(), statement: "posthorn.due" },
      { who: "server" as const, statement: "COMMIT" },
      { who: "server" as const, statement: "publish_events" }
    ])
  })
  return [
    kill,
    kill,
    () => ({ kind: "kill", who: "server", down: chance.between(100, 1_000) }),
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
    () => ({ kind: "disable", to: to(), ms: chance.between(300, 4_000) }),
    () => ({ kind: "disable", to: to(), ms: chance.between(300, 4_000) }),
    () => ({ kind: "rotate", to: to() }),
    () => ({ kind: "rotate", to: to() }),
    () => ({ kind: "rotate", to: to() }),
    () => ({ kind: "delete", to: spare() }),
    () => ({ kind: "repoint", to: spare(), manner: chance.oneOf(MANNERS) }),
    // Whatever its failures have disabled.
    () => ({ kind: "enable", to: MANNERS.indexOf("gone") })
  ]
}

const shuffled = <A>(chance: Chance, items: ReadonlyArray<A>): ReadonlyArray<A> => {
  const rest = [...items]
  return items.map(() => rest.splice(chance.below(rest.length), 1)[0]!)
}

const faults = (chance: Chance, troubleMs: number): ReadonlyArray<Step> => {
  const deck = deckOf(chance, Math.min(12_000, Math.max(6_000, troubleMs / 3)))
  const count = Math.max(deck.length, Math.round(troubleMs / 1_500))
  const dealt: Array<() => Fault> = []
  while (dealt.length < count) dealt.push(...shuffled(chance, deck))
  const from = 1_000
  return dealt
    .slice(0, count)
    .map((act, n) => ({ at: from + ((n + chance.number()) / count) * (troubleMs - from), act: act() }))
}

/** A third of the events in bursts; receivers that refuse get enough in a row to be disabled. */
const events = (chance: Chance, troubleMs: number, endpoints: number): ReadonlyArray<Step> =>
  Array.from({ length: Math.round((troubleMs / 1_000) * EVENTS_A_SECOND) }, () => {
    const at = chance.number() * troubleMs
    const late = chance.happens(0.2) ? chance.between(0, LATEST_COMMIT_MS) : chance.between(0, 20)
    return {
      at: chance.happens(0.3) ? Math.floor(at / 2_000) * 2_000 : at,
      act: {
        kind: "publish" as const,
        to: chance.happens(0.15) ? MANNERS.indexOf("gone") : chance.below(endpoints),
        by: chance.oneOf(["rest", "rest", "batch", "sql"] as const),
        late,
        commits: chance.happens(0.75)
      }
    }
  })

export const planOf = (seed: number, seconds: number): Plan => {
  const chance = makeChance(seed)
  const endpoints: ReadonlyArray<Manner> = [...MANNERS, ...SPARE]
  const poison = seconds >= POISON_FROM_SECONDS
  const steps = [
    ...events(chance, seconds * 1_000, endpoints.length),
    ...faults(chance, seconds * 1_000),
    ...(poison ? [{ at: 5_000, act: { kind: "poison" as const } }] : [])
  ]
  return { seed, endpoints, poison, steps: steps.toSorted((a, b) => a.at - b.at) }
}
