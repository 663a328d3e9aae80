/** Webhook endpoints. Secrets are stored sealed and never returned here (`SecretBox`). */

import * as SqlClient from "@effect/sql/SqlClient"
import { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { ExternalIdTaken, held } from "@posthorn/domain/Errors"
import { compile } from "@posthorn/domain/filter/Compile"
import { parseFilter } from "@posthorn/domain/filter/Filter"
import type { EndpointId, WorkspaceId } from "@posthorn/domain/Ids"
import { JsonText } from "@posthorn/domain/JsonText"
import type { Within } from "@posthorn/domain/Principal"
import { RequestProfile } from "@posthorn/domain/RequestProfile"
import { DisabledReason } from "@posthorn/domain/States"
import { Effect, Either, type Option, Schema } from "effect"
import { Bytes, Count, columnsOf, Id, Texts, Time } from "../client/internal/Columns.ts"
import { all, counted, first, one } from "../client/Query.ts"
import { rows } from "../client/Rows.ts"
import { boundedWait, byIdAfter, byIdBefore, refusing, UNIQUE_VIOLATION } from "../client/Statement.ts"
import { ofEndpoints } from "../client/Within.ts"

const Raw = Schema.Struct({
  id: Id("endpoint"),
  url: Schema.String,
  description: Schema.NullOr(Schema.String),
  eventTypes: Texts,
  externalId: Schema.NullOr(Schema.String),
  metadata: Schema.Record({ key: Schema.String, value: Schema.String }),
  policy: Schema.NullOr(DeliveryPolicy),
  request: Schema.NullOr(RequestProfile),
  filter: Schema.NullOr(Schema.String),
  enabled: Schema.Boolean,
  disabledReason: Schema.NullOr(DisabledReason),
  consecutiveFailures: Count
})

interface WithFilter {
  readonly filter: JsonText | null
}
export interface EndpointRow extends Omit<typeof Raw.Type, "filter">, WithFilter {}

const Detail = Schema.Struct({
  ...Raw.fields,
  createdAt: Time,
  updatedAt: Time,
  previousSecretExpiresAt: Schema.NullOr(Time),
  workspacePolicy: Schema.NullOr(DeliveryPolicy),
  publicKey: Schema.NullOr(Bytes),
  expiredDeliveries: Count,
  since: Schema.NullOr(Time),
  count: Count
})

export interface EndpointDetailRow
  extends Omit<typeof Detail.Type, "count" | "filter" | "since">,
    WithFilter {
  readonly missedEvents: Pick<typeof Detail.Type, "count" | "since">
}

const RequestSecrets = Schema.Struct({ requestSecrets: Schema.NullOr(Bytes) })

const SealedKeys = Schema.Struct({
  /** `SigningKeys`, sealed. */
  secret: Bytes,
  /** Of the key pair among them; null without one. */
  publicKey: Schema.NullOr(Bytes)
})
export type SealedKeys = typeof SealedKeys.Type

const Rotated = Schema.Struct({ previousSecretExpiresAt: Time })

export type EndpointSettings = Pick<
  EndpointRow,
  | "url"
  | "description"
  | "eventTypes"
  | "externalId"
  | "metadata"
  | "policy"
  | "request"
  | "filter"
  | "enabled"
>

export interface EndpointFilter {
  readonly externalId?: string | undefined
  /** A part of URL, description or external id, in any case. */
  readonly search?: string | undefined
  readonly state?: "enabled" | "disabled" | "failing" | undefined
  readonly order: "id" | "recent"
}

export interface NewEndpoint extends EndpointSettings, SealedKeys {
  readonly id: EndpointId
  readonly requestSecrets: Buffer | null
}

/** The row itself, changed in place. */
const toRow = <R extends { readonly filter: string | null }>(row: R): Omit<R, "filter"> & WithFilter =>
  row.filter === null ? (row as R & WithFilter) : Object.assign(row, { filter: new JsonText(row.filter) })

const shown = Effect.map((row: typeof Raw.Type | undefined) => row && toRow(row))

const programOf = ({ filter }: WithFilter) => filter && compile(Either.getOrThrow(parseFilter(filter.text)))

const jsonOrNull = (value: object | null) => (value === null ? null : JSON.stringify(value))

const taken = refusing({ [UNIQUE_VIOLATION]: () => new ExternalIdTaken() })

const stillInUse = {
  "55P03": () => held("A transaction that published to this endpoint, or is changing it, is still open")
}

export class EndpointsRepo extends Effect.Service<EndpointsRepo>()(
  "@posthorn/persistence/repositories/EndpointsRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const columns = sql.literal(columnsOf(Raw, "", { filter: "filter::text" }))
      /** Text arrays as JSON: the driver reads their own form letter by letter. */
      const listed = sql.literal(
        columnsOf(Raw, "", {
          filter: "filter::text",
          request: "request #- '{authentication,certificate}'",
          eventTypes: "to_json(event_types)"
        })
      )

      /** The row of an endpoint, if it exists for the caller. */
      const at = (caller: Within, endpointId: EndpointId) =>
        sql`workspace_id = ${caller.workspaceId} and id = ${endpointId} ${ofEndpoints(sql, caller, "id")}`

      const states = {
        enabled: sql`and enabled`,
        disabled: sql`and not enabled`,
        failing: sql`and enabled and consecutive_failures > 0`
      }

      const insert = (workspaceId: WorkspaceId, endpoint: NewEndpoint) =>
        rows(sql, Raw)`
        insert into posthorn.endpoints
          (workspace_id, id, url, description, event_types, external_id, metadata, policy, request, request_secrets, filter,
            filter_program, filter_path, filter_weight, enabled, disabled_reason, disabled_at, secret, public_key)
        values (${workspaceId}, ${endpoint.id}, ${endpoint.url}, ${endpoint.description},
          ${endpoint.eventTypes as Array<string>}::text[], ${endpoint.externalId},
          ${JSON.stringify(endpoint.metadata)}::jsonb, ${jsonOrNull(endpoint.policy)}::jsonb,
          ${jsonOrNull(endpoint.request)}::jsonb, ${endpoint.requestSecrets},
          ${endpoint.filter?.text ?? null}::json, ${programOf(endpoint)}::jsonb, posthorn.path_of(${programOf(endpoint)}::jsonb, 0),
          (${programOf(endpoint)}::jsonb ->> 'weight')::integer,
          ${endpoint.enabled}::boolean,
          case when ${endpoint.enabled}::boolean then null else 'manual' end,
          case when ${endpoint.enabled}::boolean then null else date_trunc('milliseconds', clock_timestamp()) end,
          ${endpoint.secret}, ${endpoint.publicKey})
        returning ${columns}`.pipe(
          Effect.map((rows) => toRow(rows[0]!)),
          taken
        )

      const count = (workspaceId: WorkspaceId) =>
        counted(sql)`select count(*) as n from posthorn.endpoints where workspace_id = ${workspaceId}`

      /** Strictly past the position, without certificates. Reads at most the workspace's own endpoints. */
      const list = (
        caller: Within,
        limit: number,
        from: Option.Option<{ readonly id: EndpointId }>,
        { externalId, order, search, state }: EndpointFilter
      ) =>
        Effect.map(
          all(sql, Raw)`select ${listed} from posthorn.endpoints
        where workspace_id = ${caller.workspaceId} ${ofEndpoints(sql, caller, "id")} ${externalId === undefined ? sql`` : sql`and external_id = ${externalId}`}
          ${
            search === undefined
              ? sql``
              : sql`and position(lower(${search}) in
                  lower(concat_ws(chr(10), url, description, external_id))) > 0`
          }
          ${state === undefined ? sql`` : states[state]}
          and ${order === "recent" ? byIdBefore(sql, limit, from) : byIdAfter(sql, limit, from)}`,
          (rows) => rows.map(toRow)
        )

      const findDetail = (caller: Within, endpointId: EndpointId) =>
        rows(sql, Detail)`
        select ${columns}, created_at as "createdAt", updated_at as "updatedAt",
          case when previous_secret_expires_at > now() then previous_secret_expires_at end
            as "previousSecretExpiresAt",
          (select w.policy from posthorn.workspaces w where w.id = e.workspace_id) as "workspacePolicy",
          public_key as "publicKey", expired as "expiredDeliveries", disabled_at as since,
          (select count(*) from posthorn.missed_events m
           where m.workspace_id = e.workspace_id and m.endpoint_id = e.id
             and m.created_at >= e.disabled_at) as count
        from posthorn.endpoints e
        where ${at(caller, endpointId)}`.pipe(
          Effect.map(([row]): EndpointDetailRow | undefined => {
            if (row === undefined) return undefined
            const { count, since, ...detail } = row
            return { ...toRow(detail), missedEvents: { count, since } }
          }),
          Effect.orDie
        )

      const find = (caller: Within, endpointId: EndpointId) =>
        first(sql, Raw)`select ${columns} from posthorn.endpoints
        where ${at(caller, endpointId)}`.pipe(shown)

      /** Locks the endpoint until the transaction ends: it can be neither disabled nor deleted meanwhile. */
      const lock = (caller: Within, endpointId: EndpointId) =>
        first(sql, Raw)`select ${columns} from posthorn.endpoints
        where ${at(caller, endpointId)} for share`.pipe(shown)

      /** The same for a caller that is about to change it. */
      const lockForUpdate = (caller: Within, endpointId: EndpointId) =>
        first(sql, Raw)`select ${columns} from posthorn.endpoints
        where ${at(caller, endpointId)} for no key update`.pipe(shown)

      /** What it signs with, locked for a caller that is about to change it. */
      const lockKeys = (caller: Within, endpointId: EndpointId) =>
        first(sql, SealedKeys)`select secret, public_key as "publicKey" from posthorn.endpoints
        where ${at(caller, endpointId)} for no key update`

      /** Gives it its first key pair, sealed with its secret; the row must be locked. */
      const setKeyPair = (caller: Within, endpointId: EndpointId, keys: SealedKeys) =>
        sql`update posthorn.endpoints set secret = ${keys.secret}, public_key = ${keys.publicKey}
        where ${at(caller, endpointId)}`.pipe(Effect.asVoid, Effect.orDie)

      const requestSecrets = (caller: Within, endpointId: EndpointId) =>
        Effect.map(
          first(sql, RequestSecrets)`select request_secrets as "requestSecrets" from posthorn.endpoints
        where ${at(caller, endpointId)}`,
          (found) => found?.requestSecrets ?? null
        )

      /** Replaces the settings of a locked row. Enabling starts a new generation. A trigger notifies the workers. */
      const update = (
        caller: Within,
        present: EndpointRow,
        next: EndpointSettings,
        requestSecrets: Buffer | null
      ) => {
        const enables = next.enabled && !present.enabled
        const disables = !next.enabled && present.enabled
        return sql`
        update posthorn.endpoints
        set url = ${next.url}, description = ${next.description}, enabled = ${next.enabled},
            updated_at = date_trunc('milliseconds', clock_timestamp())
            ${next.externalId === present.externalId ? sql`` : sql`, external_id = ${next.externalId}`}
            ${next.metadata === present.metadata ? sql`` : sql`, metadata = ${JSON.stringify(next.metadata)}::jsonb`}
            ${next.policy === present.policy ? sql`` : sql`, policy = ${jsonOrNull(next.policy)}::jsonb`}
            ${next.request === present.request ? sql`` : sql`, request = ${jsonOrNull(next.request)}::jsonb, request_secrets = ${requestSecrets}`}
            ${next.filter === present.filter ? sql`` : sql`, filter = ${next.filter?.text ?? null}::json, filter_program = ${programOf(next)}::jsonb, filter_path = posthorn.path_of(${programOf(next)}::jsonb, 0), filter_weight = (${programOf(next)}::jsonb ->> 'weight')::integer`}
            ${next.eventTypes === present.eventTypes ? sql`` : sql`, event_types = ${next.eventTypes as Array<string>}::text[]`}
            ${enables ? sql`, consecutive_failures = 0, failing_since = null, recovers_from = 'enabling', generation = generation + 1, disabled_reason = null` : sql``}
            ${disables ? sql`, disabled_reason = 'manual', disabled_at = date_trunc('milliseconds', clock_timestamp())` : sql``}
        where ${at(caller, present.id)}`.pipe(Effect.asVoid, taken)
      }

      /** Like the next two, it waits only a moment for others, in a transaction of its own. False when it is gone. */
      const lockForRemoval = (caller: Within, endpointId: EndpointId) =>
        boundedWait(sql).pipe(
          Effect.zipRight(sql`select id from posthorn.endpoints
          where ${at(caller, endpointId)} for update`),
          Effect.map((rows) => rows.length > 0),
          refusing(stillInUse)
        )

      /** Deletes it, with up to `most` of its deliveries; the worker removes the others. False when it was gone already. */
      const remove = (workspaceId: WorkspaceId, endpointId: EndpointId, most: number) =>
        boundedWait(sql).pipe(
          Effect.zipRight(
            sql`select from posthorn.remove_endpoint(${workspaceId}, ${endpointId}, ${most}) as removed where removed`
          ),
          Effect.map((rows) => rows.length > 0),
          refusing(stillInUse)
        )

      /** Makes `keys` the current ones. The previous ones stay valid for 24 hours; older ones are dropped at once. */
      const rotate = (caller: Within, endpointId: EndpointId, keys: SealedKeys) =>
        one(sql, Rotated)`
        update posthorn.endpoints
        set previous_secret = secret, secret = ${keys.secret}, previous_public_key = public_key, public_key = ${keys.publicKey},
            previous_secret_expires_at = date_trunc('milliseconds', clock_timestamp()) + interval '24 hours',
            updated_at = date_trunc('milliseconds', clock_timestamp())
        where ${at(caller, endpointId)}
        returning previous_secret_expires_at as "previousSecretExpiresAt"`

      return {
        count,
        find,
        findDetail,
        insert,
        list,
        lock,
        lockForRemoval,
        lockForUpdate,
        lockKeys,
        remove,
        requestSecrets,
        rotate,
        setKeyPair,
        update
      } as const
    })
  }
) {}
