/** Workspaces, by whose id every other key begins. */

import * as SqlClient from "@effect/sql/SqlClient"
import { Alert } from "@posthorn/domain/Alerts"
import { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { held, WorkspaceNotFound, WorkspaceSlugTaken } from "@posthorn/domain/Errors"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import { isSlug } from "@posthorn/domain/Slug"
import { Effect, type Option, Schema } from "effect"
import { Bytes, Count, Counted, columnsOf, Id, Time } from "../client/internal/Columns.ts"
import { all, execute, first } from "../client/Query.ts"
import { rows } from "../client/Rows.ts"
import { boundedWait, byIdAfter, refusing, UNIQUE_VIOLATION } from "../client/Statement.ts"

export const WorkspaceRow = Schema.Struct({
  id: Id("workspace"),
  slug: Schema.String,
  name: Schema.String,
  /** The workspace's own limit; null: the installation's applies. */
  limits: Schema.Struct({
    endpoints: Schema.NullOr(Count),
    tokens: Schema.NullOr(Count),
    waiting: Schema.NullOr(Count),
    bytes: Schema.NullOr(Count),
    publishPerMinute: Schema.NullOr(Count)
  }),
  createdAt: Time
})
export type WorkspaceRow = typeof WorkspaceRow.Type
export type WorkspaceLimits = WorkspaceRow["limits"]

const LIMITS = `json_build_object('endpoints', endpoints_limit, 'tokens', tokens_limit, 'waiting', waiting_limit,
  'bytes', bytes_limit, 'publishPerMinute', publish_per_minute)`

const Settings = Schema.Struct({ policy: Schema.NullOr(DeliveryPolicy), alerts: Schema.Array(Alert) })

export type WorkspaceSettings = typeof Settings.Type

const StoredSettings = Schema.Struct({ ...Settings.fields, alertSecrets: Schema.NullOr(Bytes) })

/** With the Slack URLs of its alerts, sealed. */
export type StoredSettings = typeof StoredSettings.Type

const stillInUse = {
  "55P03": () => held("A transaction that published to this workspace is still open")
}

export class WorkspacesRepo extends Effect.Service<WorkspacesRepo>()(
  "@posthorn/persistence/repositories/WorkspacesRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(columnsOf(WorkspaceRow, "", { limits: LIMITS }))

      const insert = (row: { readonly id: WorkspaceId; readonly slug: string; readonly name: string }) =>
        rows(sql, WorkspaceRow)`insert into posthorn.workspaces ${sql.insert(row)}
        returning ${columns}`.pipe(
          Effect.map((rows) => rows[0]!),
          refusing({ [UNIQUE_VIOLATION]: () => new WorkspaceSlugTaken() })
        )

      const findBySlug = (slug: string) =>
        !isSlug(slug)
          ? Effect.succeed(undefined)
          : first(sql, WorkspaceRow)`select ${columns}
        from posthorn.workspaces where slug = ${slug}`

      const gone = <A, E>(row: Effect.Effect<A | undefined, E>) =>
        Effect.flatMap(row, (found) =>
          found === undefined ? Effect.fail(new WorkspaceNotFound()) : Effect.succeed(found)
        )

      /** By id; undefined when it was removed after the gate admitted the caller. */
      const get = (workspaceId: WorkspaceId) =>
        gone(first(sql, WorkspaceRow)`select ${columns} from posthorn.workspaces where id = ${workspaceId}`)

      /**
       * Until the transaction ends, so that a count and the insert after it agree. Publishing goes on. Undefined when it was
       * just removed.
       */
      const hold = (workspaceId: WorkspaceId) =>
        Effect.zipRight(
          Effect.orDie(boundedWait(sql)),
          first(sql, WorkspaceRow)`select ${columns} from posthorn.workspaces
          where id = ${workspaceId} for no key update`
        )

      const update = (workspaceId: WorkspaceId, { limits, name }: Pick<WorkspaceRow, "limits" | "name">) =>
        execute(sql)`update posthorn.workspaces
        set name = ${name}, endpoints_limit = ${limits.endpoints}, tokens_limit = ${limits.tokens},
          waiting_limit = ${limits.waiting}, bytes_limit = ${limits.bytes}, publish_per_minute = ${limits.publishPerMinute}
        where id = ${workspaceId}`

      const settings = (workspaceId: WorkspaceId) =>
        gone(first(sql, Settings)`select policy, alerts from posthorn.workspaces where id = ${workspaceId}`)

      /** The same for a caller that is about to change its settings. */
      const settingsForUpdate = (workspaceId: WorkspaceId) =>
        gone(
          first(
            sql,
            StoredSettings
          )`select policy, alerts, alert_secrets as "alertSecrets" from posthorn.workspaces
            where id = ${workspaceId} for no key update`
        )

      const updateSettings = (workspaceId: WorkspaceId, { alertSecrets, alerts, policy }: StoredSettings) =>
        execute(sql)`update posthorn.workspaces
        set policy = ${policy === null ? null : JSON.stringify(policy)}::jsonb, alerts = ${JSON.stringify(alerts)}::jsonb,
          alert_secrets = ${alertSecrets}
        where id = ${workspaceId}`

      const list = (limit: number, from: Option.Option<{ readonly id: WorkspaceId }>) =>
        all(sql, WorkspaceRow)`select ${columns} from posthorn.workspaces
        where ${byIdAfter(sql, limit, from)}`

      /**
       * Removes up to `most` of its oldest deliveries, then of its events that no delivery needs; gives the larger number.
       * Locks in the order of `posthorn.record`, and waits only a moment, in a transaction of its own.
       */
      const removeHistory = (workspaceId: WorkspaceId, most: number) =>
        boundedWait(sql).pipe(
          Effect.zipRight(rows(sql, Counted)`
        select posthorn.remove_history(${workspaceId}, null, ${most}) as n`),
          Effect.zipWith(
            rows(sql, Counted)`select removed as n
            from posthorn.remove_old_events(${workspaceId}, interval '0', ${most}, '')`,
            ([deliveries], [events]) => Math.max(deliveries!.n, events!.n)
          ),
          refusing(stillInUse)
        )

      /** Removes it with everything in it; undefined when it was gone already. */
      const remove = (workspaceId: WorkspaceId, traceId: string) =>
        boundedWait(sql).pipe(
          Effect.zipRight(
            rows(
              sql,
              WorkspaceRow
            )`select ${columns} from posthorn.remove_workspace(${workspaceId}, ${traceId})`
          ),
          Effect.map((rows) => rows[0]),
          refusing(stillInUse)
        )

      return {
        findBySlug,
        get,
        hold,
        insert,
        list,
        remove,
        removeHistory,
        settings,
        settingsForUpdate,
        update,
        updateSettings
      } as const
    })
  }
) {}
