/** Meters for the connections of a pool, and for the duration of the worker's statements. */
import { collecting } from "@posthorn/telemetry/Collectors"
import { gauge, histogram, SECONDS } from "@posthorn/telemetry/Meters"
import { Effect } from "effect"
import type pg from "pg"

const connections = gauge(
  "posthorn_database_connections",
  "Connections of this process to PostgreSQL.",
  "pool",
  "state"
)
const waiting = gauge(
  "posthorn_database_waiting",
  "Statements that wait for a free connection of this process.",
  "pool"
)
const most = gauge("posthorn_database_connections_max", "The most connections this pool opens.", "pool")

/** Named as in PostgreSQL's list of connections; `more` distinguishes pools of the same name. */
export const poolMeters = (pool: pg.Pool, more = "") => {
  const name = `${(pool.options.application_name ?? "").replace(/^posthorn /, "")}${more}`
  return collecting(
    Effect.sync(() => {
      connections.set(pool.idleCount, name, "idle")
      connections.set(pool.totalCount - pool.idleCount, name, "used")
      waiting.set(pool.waitingCount, name)
      most.set(pool.options.max ?? 0, name)
    })
  )
}

/** For the worker's prepared statements (`posthorn.load`, `posthorn.record` and others), including the wait for a connection. */
export const statementSeconds = histogram(
  "posthorn_statement_duration_seconds",
  "How long the engine's statements take, in seconds, with the wait for a connection.",
  SECONDS,
  "statement"
)
