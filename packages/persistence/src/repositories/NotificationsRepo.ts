/** Notifications, which `posthorn.record` and `posthorn.dead_letter` write. Source: spec §3.1. */

import * as SqlClient from "@effect/sql/SqlClient"
import type { NotificationId } from "@posthorn/domain/Ids"
import type { TimePosition } from "@posthorn/domain/Page"
import type { Within } from "@posthorn/domain/Principal"
import { NotificationKind } from "@posthorn/domain/States"
import { Effect, type Option, Schema } from "effect"
import { columnsOf, Id, Time } from "../client/internal/Columns.ts"
import { all, first } from "../client/Query.ts"
import { newestFirst } from "../client/Statement.ts"
import { newestWithin, ofEndpoints } from "../client/Within.ts"

const NotificationRow = Schema.Struct({
  id: Id("notification"),
  kind: NotificationKind,
  message: Schema.String,
  endpointId: Schema.NullOr(Id("endpoint")),
  deliveryId: Schema.NullOr(Id("delivery")),
  readAt: Schema.NullOr(Time),
  createdAt: Time
})

export class NotificationsRepo extends Effect.Service<NotificationsRepo>()(
  "@posthorn/persistence/repositories/NotificationsRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(columnsOf(NotificationRow))

      const list = (caller: Within, limit: number, from: Option.Option<TimePosition>) =>
        all(
          sql,
          NotificationRow
        )`select ${columns} from ${newestWithin(sql, caller, "posthorn.notifications", newestFirst(sql, limit, from))}`

      const markRead = (caller: Within, notificationId: NotificationId) =>
        first(sql, NotificationRow)`update posthorn.notifications
          set read_at = coalesce(read_at, date_trunc('milliseconds', clock_timestamp()))
          where workspace_id = ${caller.workspaceId} and id = ${notificationId} ${ofEndpoints(sql, caller, "endpoint_id")}
          returning ${columns}`

      return { list, markRead } as const
    })
  }
) {}
