/** Notifications: written by `posthorn.record` and `posthorn.bury`, read and marked here. Source: spec §3.1. */

import * as SqlClient from "@effect/sql/SqlClient"
import type { NotificationId, WorkspaceId } from "@posthorn/domain/Ids"
import type { TimePosition } from "@posthorn/domain/Page"
import { NotificationKind } from "@posthorn/domain/States"
import { Effect, type Option, Schema } from "effect"
import { columnsOf, Id, Time } from "./internal/Columns.ts"
import { rows } from "./Rows.ts"
import { olderThan } from "./Statement.ts"

export const NotificationRow = Schema.Struct({
  id: Id("notification"),
  kind: NotificationKind,
  message: Schema.String,
  endpointId: Schema.NullOr(Id("endpoint")),
  deliveryId: Schema.NullOr(Id("delivery")),
  readAt: Schema.NullOr(Time),
  createdAt: Time
})
export type NotificationRow = typeof NotificationRow.Type

export class NotificationsRepo extends Effect.Service<NotificationsRepo>()(
  "@posthorn/persistence/NotificationsRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(columnsOf(NotificationRow))

      /** Newest first, strictly past the position. */
      const list = (workspaceId: WorkspaceId, limit: number, from: Option.Option<TimePosition>) =>
        rows(sql, NotificationRow)`select ${columns} from posthorn.notifications
          where workspace_id = ${workspaceId} and ${olderThan(sql, from)}
          order by created_at desc, id desc limit ${limit + 1}`.pipe(Effect.orDie)

      /** Read from now on, or since the first time it was marked. */
      const markRead = (workspaceId: WorkspaceId, notificationId: NotificationId) =>
        rows(sql, NotificationRow)`update posthorn.notifications
          set read_at = coalesce(read_at, date_trunc('milliseconds', clock_timestamp()))
          where workspace_id = ${workspaceId} and id = ${notificationId}
          returning ${columns}`.pipe(
          Effect.map((rows) => rows[0]),
          Effect.orDie
        )

      return { list, markRead } as const
    })
  }
) {}
