/**
 * Everything that can happen in a run: faults of processes, connections, clocks, the database and its disk, and people's
 * orders.
 */
import type { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"

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

/** One member for each kind, so that the kind identifies it. */
type Each<Kind extends string, Facts> = Kind extends string
  ? Readonly<Facts> & { readonly kind: Kind }
  : never

/** `late`: the publisher's transaction stays open for this many milliseconds, and then commits or rolls back. */
export type Publish = Each<
  "publish",
  { to: number; by: "rest" | "batch" | "sql"; late: number; commits: boolean }
>

/** A process is stopped or killed, and started again `down` ms later; or it freezes. */
export type ProcessFault =
  | Each<"kill" | "end", { who: Role; down: number }>
  | Each<"freeze", { who: Role; ms: number }>

/** A fault of a process's connections to the database: see DatabaseLine.ts. */
export type LineFault =
  | Each<"hold", { who: Role; ms: number }>
  | Each<"delay", { who: Role; ms: number; each: number }>
  | Each<"cut" | "forget", { who: Role }>
  | Each<"lose", { who: Role; statement: string }>

/** The wall clock of a process is wrong for a while; the speed of its time does not change. See Clocks.ts. */
export type ClockFault = Each<"clock", { who: Role; offMs: number; ms: number }>

/** A fault of the whole database: see PostgresFaults.ts. */
export type PostgresFault =
  | Each<"restart" | "crash", { down: number }>
  | Each<"read only" | "disk full", { ms: number }>
  | Each<"isolation", { level: "serializable" | "repeatable read"; ms: number }>
  | Each<"foreign session", { ms: number; seed: number }>
  | Each<"drop sessions", unknown>

/** A change of an endpoint, over REST. */
export type Order =
  | Each<"disable", { to: number; ms: number }>
  | Each<"rotate" | "delete" | "enable", { to: number }>
  | Each<"repoint", { to: number; manner: Manner }>
  | Each<"repolicy", { to: number; policy: DeliveryPolicy | null }>

/**
 * A replay job of everything that an endpoint lost; cancelled after a number of milliseconds, or never. See ReplayOrders.ts.
 */
export type ReplayOrder = Each<
  "replay",
  { of: number; includeMissed: boolean; retried: boolean; cancelAfter: number | null }
>

/** Somebody signs in to the console and works there until the session ends. See Sessions.ts. */
export type SessionOrder = Each<"session", { ends: "sign-out" | "revocation" | "expiry"; ms: number }>

/** Retention runs, and keeps what is younger than this. See RetentionRuns.ts. */
type RetentionOrder = Each<"retention", { keptMs: number }>

export type Fault =
  | ProcessFault
  | LineFault
  | ClockFault
  | PostgresFault
  | Order
  | ReplayOrder
  | SessionOrder
  | RetentionOrder

export type Action = Publish | Fault | Each<"poison", unknown>
