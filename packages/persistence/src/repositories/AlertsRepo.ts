/** What was told by e-mail and Slack (0014_alerts.sql). Source: spec §3.6. */

import * as SqlClient from "@effect/sql/SqlClient"
import { AlertCause, AlertKind, AlertState } from "@posthorn/domain/Alerts"
import type { WorkspaceId } from "@posthorn/domain/Ids"
import type { TimePosition } from "@posthorn/domain/Page"
import { Effect, type Option, Schema } from "effect"
import { Count, columnsOf, Id, Time } from "../client/internal/Columns.ts"
import { all } from "../client/Query.ts"
import { newestFirst } from "../client/Statement.ts"

const AlertRow = Schema.Struct({
  id: Id("alert"),
  kind: AlertKind,
  on: AlertCause,
  to: Schema.String,
  state: AlertState,
  attempts: Count,
  lastError: Schema.NullOr(Schema.String),
  createdAt: Time,
  sentAt: Schema.NullOr(Time)
})

export class AlertsRepo extends Effect.Service<AlertsRepo>()(
  "@posthorn/persistence/repositories/AlertsRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(columnsOf(AlertRow, "", { on: "cause", to: "recipient" }))

      const list = (workspaceId: WorkspaceId, limit: number, from: Option.Option<TimePosition>) =>
        all(sql, AlertRow)`select ${columns} from posthorn.alerts
          where workspace_id = ${workspaceId} and ${newestFirst(sql, limit, from)}`

      return { list } as const
    })
  }
) {}
