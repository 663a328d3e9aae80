/** Everything that can happen in a run: to processes, to their lines, to the database and its disk, and by people's orders. */

/** Who can be hurt. */
export type Worker = `worker ${number}`
export type Server = `server ${number}`
export type Role = Worker | Server

export interface Roles {
  readonly workers: ReadonlyArray<Worker>
  readonly servers: ReadonlyArray<Server>
}

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

/** The wall clock of a process is off for a while; how its time passes stays as it is. See Clocks.ts. */
export interface ClockFault {
  readonly kind: "clock"
  readonly who: Role
  readonly offMs: number
  readonly ms: number
}

/** Of PostgreSQL: stopped and started as an administrator would, or crashed. */
export type DatabaseFault = Each<"restart" | "crash", { readonly down: number }>

/** What is in the way of everybody who uses the database, which itself goes on: see Weather.ts. */
export type Weather =
  | Each<"read only" | "disk full", { readonly ms: number }>
  | { readonly kind: "isolation"; readonly level: "serializable" | "repeatable read"; readonly ms: number }
  | { readonly kind: "stranger"; readonly ms: number; readonly seed: number }
  | { readonly kind: "drop sessions" }

/** About an endpoint, over REST. */
export type Order =
  | { readonly kind: "disable"; readonly to: number; readonly ms: number }
  | Each<"rotate" | "delete" | "enable", { readonly to: number }>
  | { readonly kind: "repoint"; readonly to: number; readonly manner: Manner }

/** A replay job of everything that an endpoint lost; cancelled so many milliseconds later, or never. See Replaying.ts. */
export interface ReplayOrder {
  readonly kind: "replay"
  readonly of: number
  readonly includeMissed: boolean
  readonly retried: boolean
  readonly cancelAfter: number | null
}

/** Somebody signs in to the console and works there, until so many milliseconds later the session ends. See Sessions.ts. */
export interface SessionOrder {
  readonly kind: "session"
  readonly ends: "sign-out" | "revocation" | "expiry"
  readonly ms: number
}

/** Retention runs, and keeps what is younger than this. See Tidying.ts. */
export interface TidyOrder {
  readonly kind: "tidy"
  readonly keptMs: number
}

export type Fault =
  | ProcessFault
  | LineFault
  | ClockFault
  | DatabaseFault
  | Weather
  | Order
  | ReplayOrder
  | SessionOrder
  | TidyOrder

export type Act = Publish | Fault | { readonly kind: "poison" }
