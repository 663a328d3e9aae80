/** Meters of a pool's connections, and of the duration of the worker's statements. */
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

/** Named like its connections in PostgreSQL; `more` distinguishes two pools of one name. */
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

/**
 * Duration of the worker's prepared statements (`posthorn.load`, `posthorn.record`, …), including the wait for a connection.
 */
export const statementSeconds = histogram(
  "posthorn_statement_duration_seconds",
  "How long the engine's statements take, in seconds, with the wait for a connection.",
  SECONDS,
  "statement"
)
