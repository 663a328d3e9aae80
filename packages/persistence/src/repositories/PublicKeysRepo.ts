/** The public keys of a workspace's key pairs, for whoever verifies what they sign. */
import * as SqlClient from "@effect/sql/SqlClient"
import { Effect, Schema } from "effect"
import { Bytes, Id } from "../client/internal/Columns.ts"
import { all } from "../client/Query.ts"

const KeysRow = Schema.Struct({
  endpointId: Schema.NullOr(Id("endpoint")),
  current: Schema.NullOr(Bytes),
  /** Null once the grace window is over. */
  previous: Schema.NullOr(Bytes)
})

export class PublicKeysRepo extends Effect.Service<PublicKeysRepo>()(
  "@posthorn/persistence/repositories/PublicKeysRepo",
  {
    effect: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** Of the endpoints that sign with them, by id; undefined for an unknown workspace. */
      const ofWorkspace = (slug: string) =>
        Effect.map(
          all(sql, KeysRow)`
        select e.id as "endpointId", e.public_key as current,
          case when e.previous_secret_expires_at > now() then e.previous_public_key end as previous
        from posthorn.workspaces w
        left join posthorn.endpoints e
          on e.workspace_id = w.id and e.request @> '{"signatures": [{"scheme": "standard_v1a"}]}'
        where w.slug = ${slug} order by e.id`,
          (rows) =>
            rows.length === 0
              ? undefined
              : rows.flatMap(({ current, endpointId, previous }) =>
                  endpointId === null || current === null ? [] : [{ endpointId, current, previous }]
                )
        )

      /** The slugs of workspaces whose keys may have changed in these last milliseconds. */
      const changedWithin = (ms: number) =>
        Effect.map(
          all(sql, Schema.Struct({ slug: Schema.String }))`
        select distinct w.slug from posthorn.audit_events a join posthorn.workspaces w on w.id = a.workspace_id
        where a.action in ('webhook.endpoint_created', 'webhook.endpoint_updated', 'webhook.endpoint_deleted',
            'webhook.secret_rotated')
          and a.created_at > now() - ${ms} * interval '1 millisecond'`,
          (rows) => rows.map(({ slug }) => slug)
        )

      return { changedWithin, ofWorkspace } as const
    })
  }
) {}
