/**
 * Stores which workspace gets operational events (migrations/0013_operations.sql), so that every change finds it, whoever makes it.
 * While the database accepts no writes it is tried again; then nothing changes either.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { Effect, Schedule, Schema } from "effect"
import { rows } from "../client/Rows.ts"

const Before = Schema.Struct({ named: Schema.NullOr(Schema.String) })

/** By slug; null is none. The last `serve` to start decides, and says so where another one had set another. */
export const writeSystemWorkspace = (slug: string | null) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const [before] = yield* rows(sql, Before)`
      with before as (select system_workspace as named from posthorn.installation for update),
        written as (update posthorn.installation set system_workspace = ${slug})
      select named from before`
    if (before !== undefined && before.named !== null && before.named !== slug)
      yield* Effect.logWarning(
        `SYSTEM_WORKSPACE was ${before.named} and is ${slug ?? "none"} now, for every serve of this installation`
      )
  })

export const keepSystemWorkspace = (slug: string | null) =>
  Effect.catchAll(writeSystemWorkspace(slug), () =>
    Effect.forkScoped(Effect.retry(writeSystemWorkspace(slug), Schedule.spaced("1 second")))
  )
