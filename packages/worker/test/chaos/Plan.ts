/** What a seed says will happen: events, faults and orders, each with its moment. The same seed gives the same plan. */
import { type Chance, makeChance } from "../simulation/VirtualTime.ts"

/** Who can be hurt. */
export type Worker = `worker ${number}`
export type Server = `server ${number}`
export type Role = Worker | Server

/** How many processes there are, and whether they are killed and nothing else happens. */
export interface Size {
  readonly workers: number
  readonly servers: number
  readonly onlyKills: boolean
}

export const USUAL: Size = { workers: 2, servers: 1, onlyKills: false }

export interface Roles {
  readonly workers: ReadonlyArray<Worker>
  readonly servers: ReadonlyArray<Server>
}

export const rolesOf = ({ servers, workers }: Size): Roles => ({
  workers: Array.from({ length: workers }, (_, n) => `worker ${n}` as const),
  servers: Array.from({ length: servers }, (_, n) => `server ${n}` as const)
})

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
const FAULT_EVERY_MS = 1_500
/** Of a run whose only trouble is that processes are killed. */
const KILL_EVERY_MS = 20_000
const ORDER_EVERY_MS = 5_000
/** The longest that a publisher's transaction stays open. */
const LATEST_COMMIT_MS = 6_000

type Deck = ReadonlyArray<() => Fault>

/** Each kind of trouble as often as it stands here, before any comes again. */
const troublesOf = (chance: Chance, longest: number, { servers, workers }: Roles): Deck => {
  const who = () => chance.oneOf<Role>([...workers, ...servers])
  const worker = () => chance.oneOf(workers)
  const kill = () => ({ kind: "kill" as const, who: worker(), down: chance.between(100, 1_500) })
  const lose = () => ({
    kind: "lose" as const,
    ...chance.oneOf([
      { who: worker(), statement: "posthorn.record" },
      { who: worker(), statement: "posthorn.load" },
      { who: worker(), statement: "posthorn.due" },
      { who: servers[0]!, statement: "COMMIT" },
      { who: servers[0]!, statement: "publish_events" }
    ])
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
    () => ({ kind: "crash", down: 0 })
  ]
}

/** What people do meanwhile. */
const ordersOf = (chance: Chance): Deck => {
  const to = () => chance.below(MANNERS.length + SPARE.length)
  const spare = () => MANNERS.length + chance.below(SPARE.length)
  return [
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

/** One process after another, whichever chance says; each is back at once. */
const kills = (chance: Chance, troubleMs: number, { servers, workers }: Roles): ReadonlyArray<Step> =>
  Array.from({ length: Math.floor(troubleMs / KILL_EVERY_MS) }, (_, n) => ({
    at: (n + 0.5) * KILL_EVERY_MS,
    act: {
      kind: "kill",
      who: chance.oneOf<Role>([...workers, ...servers]),
      down: chance.between(100, 1_500)
    }
  }))

/** The whole deck at least once, and then a fault every so many milliseconds. */
const dealtFrom = (chance: Chance, deck: Deck, troubleMs: number, every: number): ReadonlyArray<Step> => {
  const count = Math.max(deck.length, Math.round(troubleMs / every))
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

/** Events only, for runs that bring trouble of their own. */
export const publishesOf = (seed: number, seconds: number): Plan => {
  const steps = events(makeChance(seed), seconds * 1_000, MANNERS.length)
  return { seed, endpoints: MANNERS, poison: false, steps: steps.toSorted((a, b) => a.at - b.at) }
}

const faults = (chance: Chance, troubleMs: number, size: Size): ReadonlyArray<Step> => {
  const longest = Math.min(12_000, Math.max(6_000, troubleMs / 3))
  const orders = ordersOf(chance)
  return size.onlyKills
    ? [...kills(chance, troubleMs, rolesOf(size)), ...dealtFrom(chance, orders, troubleMs, ORDER_EVERY_MS)]
    : dealtFrom(chance, [...troublesOf(chance, longest, rolesOf(size)), ...orders], troubleMs, FAULT_EVERY_MS)
}

export const planOf = (seed: number, seconds: number, size: Size): Plan => {
  const chance = makeChance(seed)
  const endpoints: ReadonlyArray<Manner> = [...MANNERS, ...SPARE]
  const poison = seconds >= POISON_FROM_SECONDS && !size.onlyKills
  const steps = [
    ...events(chance, seconds * 1_000, endpoints.length),
    ...faults(chance, seconds * 1_000, size),
    ...(poison ? [{ at: 5_000, act: { kind: "poison" as const } }] : [])
  ]
  return { seed, endpoints, poison, steps: steps.toSorted((a, b) => a.at - b.at) }
}
