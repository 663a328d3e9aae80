/**
 * Stores which workspace gets operational events (migrations/0013_operations.sql), so that every change finds it, whoever makes it.
 * While the database accepts no writes it is tried again; then nothing changes either.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Effect, Schedule } from "effect"

/** By slug; null is none. */
export const writeSystemWorkspace = (slug: string | null) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql`update posthorn.installation set system_workspace = ${slug}`
  )

export const keepSystemWorkspace = (slug: string | null) =>
  Effect.catchAll(writeSystemWorkspace(slug), () =>
    Effect.forkScoped(Effect.retry(writeSystemWorkspace(slug), Schedule.spaced("1 second")))
  )
