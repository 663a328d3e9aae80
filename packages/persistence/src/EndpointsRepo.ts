/** Webhook endpoints. The signing secret goes in sealed and is read by the worker only. */
import * as SqlClient from "@effect/sql/SqlClient"
import { Effect } from "effect"

export interface EndpointRow {
  readonly id: string
  readonly url: string
  readonly description: string | null
  readonly eventTypes: ReadonlyArray<string>
  readonly enabled: boolean
  readonly disabledReason: "manual" | "consecutive_failures" | null
  readonly consecutiveFailures: number
}

export interface NewEndpoint {
  readonly id: string
  readonly url: string
  readonly description: string | null
  readonly eventTypes: ReadonlyArray<string>
  readonly enabled: boolean
  readonly secret: Buffer
}

export class EndpointsRepo extends Effect.Service<EndpointsRepo>()("@posthorn/persistence/EndpointsRepo", {
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql.literal(
      `id, url, description, event_types as "eventTypes", enabled, disabled_reason as "disabledReason",
       consecutive_failures as "consecutiveFailures"`
    )

    const insert = (workspaceId: string, endpoint: NewEndpoint) =>
      sql<EndpointRow>`
        insert into posthorn.endpoints
          (workspace_id, id, url, description, event_types, enabled, disabled_reason, disabled_at, secret)
        values (${workspaceId}, ${endpoint.id}, ${endpoint.url}, ${endpoint.description},
          ${endpoint.eventTypes as Array<string>}::text[], ${endpoint.enabled}::boolean,
          case when ${endpoint.enabled}::boolean then null else 'manual' end,
          case when ${endpoint.enabled}::boolean then null else date_trunc('milliseconds', clock_timestamp()) end,
          ${endpoint.secret})
        returning ${columns}`.pipe(
        Effect.map((rows) => rows[0]!),
        Effect.orDie
      )

    const find = (workspaceId: string, endpointId: string) =>
      sql<EndpointRow>`select ${columns} from posthorn.endpoints
        where workspace_id = ${workspaceId} and id = ${endpointId}`.pipe(
        Effect.map((rows) => rows[0]),
        Effect.orDie
      )

    /** Hold the endpoint as it is until the transaction ends: it can be neither disabled nor deleted meanwhile. */
    const lock = (workspaceId: string, endpointId: string) =>
      sql<EndpointRow>`select ${columns} from posthorn.endpoints
        where workspace_id = ${workspaceId} and id = ${endpointId} for share`.pipe(
        Effect.map((rows) => rows[0]),
        Effect.orDie
      )

    /** Make `secret` the current one; the one before stays for 24 hours, an older one goes at once. */
    const rotate = (workspaceId: string, endpointId: string, secret: Buffer) =>
      sql<{ readonly previousSecretExpiresAt: string }>`
        update posthorn.endpoints
        set previous_secret = secret, secret = ${secret},
            previous_secret_expires_at = date_trunc('milliseconds', clock_timestamp()) + interval '24 hours',
            updated_at = date_trunc('milliseconds', clock_timestamp())
        where workspace_id = ${workspaceId} and id = ${endpointId}
        returning previous_secret_expires_at as "previousSecretExpiresAt"`.pipe(
        Effect.map((rows) => rows[0]),
        Effect.orDie
      )

    return { insert, find, lock, rotate } as const
  })
}) {}
