/**
 * A workspace with endpoints, and a worker that can be started and stopped repeatedly, on any PostgreSQL. Scripts use it
 * without a test runner; tests import it through Setting.ts, which adds a database.
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { parseAllowedTargets } from "@posthorn/domain/AllowedTargets"
import type { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { TEST_EVENT } from "@posthorn/domain/EventType"
import { type EndpointId, newId } from "@posthorn/domain/Ids"
import { JsonText } from "@posthorn/domain/JsonText"
import type { RequestProfile } from "@posthorn/domain/RequestProfile"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import { DeliveriesRepo } from "@posthorn/persistence/repositories/DeliveriesRepo"
import { generateSecret } from "@posthorn/signature"
import type { Behaviour } from "@posthorn/testkit/Receiver"
import { row, rows } from "@posthorn/testkit/Sql"
import { seen, until } from "@posthorn/testkit/Until"
import { Effect, Either, Layer, Redacted } from "effect"
import * as Worker from "../src/Worker.ts"
import { defaults, WorkerConfig, type WorkerSettings } from "../src/WorkerConfig.ts"

export const box = SecretBox.make([Redacted.make(new Uint8Array(32).fill(7))])

export const RETRY_DELAY_MS = 20

export const settings: WorkerSettings = {
  ...defaults,
  retryDelayMs: RETRY_DELAY_MS,
  // Longer than a busy machine stalls, so that a stall does not look like a timeout.
  requestTimeoutMs: 6_000,
  bodyTimeoutMs: 2_000,
  allowedTargets: Either.getOrThrow(parseAllowedTargets("127.0.0.1", true)),
  version: "0.0.0-test"
}

/** The worker, until the scope ends. */
export const worker = (changes: Partial<WorkerSettings> = {}) =>
  Layer.build(
    Worker.layer.pipe(Layer.fresh, Layer.provide(Layer.succeed(WorkerConfig, { ...settings, ...changes })))
  )

export const workspace = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const id = newId("workspace")
  const slug = `w${id.slice(-12)}`
  yield* sql`insert into posthorn.workspaces (id, slug, name) values (${id}, ${slug}, 'Test')`
  return { id, slug }
})

export type Workspace = Effect.Effect.Success<typeof workspace>

export const endpoint = (
  { id: workspaceId }: Workspace,
  url: string,
  eventType = "invoice.paid",
  enabled = true
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const id = newId("endpoint")
    const secret = generateSecret()
    const sealed = box.seal({ workspaceId, endpointId: id }, Redacted.make(secret))
    yield* sql`insert into posthorn.endpoints (workspace_id, id, url, event_types, enabled, disabled_reason, secret)
      values (${workspaceId}, ${id}, ${url}, ${[eventType]}, ${enabled}, ${enabled ? null : "manual"}, ${sealed})`
    return { id, secret }
  })

/** `updateWebhookEndpoint` stores a profile and its secrets in this form. */
export const setRequest = (
  { id: workspaceId }: Workspace,
  endpointId: string,
  profile: RequestProfile,
  secrets: { readonly headers?: Readonly<Record<string, string>>; readonly authentication?: string | null }
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const text = JSON.stringify({ fingerprintKey: "a2V5", headers: {}, authentication: null, ...secrets })
    const sealed = box.seal({ workspaceId, endpointId, of: "request" }, Redacted.make(text))
    yield* sql`update posthorn.endpoints set request = ${JSON.stringify(profile)}::text::jsonb, request_secrets = ${sealed}
      where id = ${endpointId}`
  })

export const setPolicy = (
  id: string,
  policy: DeliveryPolicy | null,
  table: "endpoints" | "workspaces" = "endpoints"
) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`update ${sql(`posthorn.${table}`)} set policy = ${policy && JSON.stringify(policy)}::text::jsonb where id = ${id}`
  )

export const testSend = ({ id }: Workspace, endpointId: EndpointId) =>
  Effect.flatMap(DeliveriesRepo, ({ insertTestSend }) =>
    insertTestSend(id, {
      endpointId,
      eventType: TEST_EVENT,
      payload: new JsonText("1"),
      actor: { type: "operator", id: "operator", via: "rest" },
      traceId: "0af7651916cd43dd8448eb211c80319c"
    })
  ).pipe(Effect.provide(DeliveriesRepo.Default))

/** A receiver that answers 503 until `state.back` is set. */
export const away = () => {
  const state = { back: false }
  const behaviour: Behaviour = (answer) => {
    answer.reply(state.back ? 200 : 503, state.back ? "took it" : "down")
  }
  return { state, behaviour }
}

export const enable = (endpointId: string) =>
  rows`update posthorn.endpoints set enabled = true, disabled_reason = null, consecutive_failures = 0,
      generation = generation + 1 where id = ${endpointId} and not enabled returning id`

export const disable = (endpointId: string) =>
  rows`update posthorn.endpoints set enabled = false, disabled_reason = 'manual' where id = ${endpointId}`

/** Publishes `count` events in one transaction. */
export const publish = (
  { slug }: Workspace,
  count = 1,
  eventType = "invoice.paid",
  payload = '{"total": 1e3}'
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{
      ids: Array<string>
    }>`select delivery_ids as ids from posthorn.publish_events(${slug},
      array_fill(${eventType}::text, array[${count}]::integer[]), array_fill(${payload}::json, array[${count}]::integer[]),
      array_fill(null::text, array[${count}]::integer[]))`
    return rows.flatMap((row) => row.ids)
  })

export interface DeliveryRow {
  readonly id: string
  readonly status: string
  readonly attempts: number
  readonly last_http_status: number | null
  readonly last_failure_reason: string | null
  readonly next_attempt_at: string | null
}

export const deliveries = ({ id }: Workspace) =>
  rows<DeliveryRow>`select * from posthorn.deliveries where workspace_id = ${id} order by id`

export interface AttemptRow {
  readonly delivery_id: string
  readonly ordinal: number
  readonly at: string
  readonly status: string
  readonly http_status: number | null
  readonly failure_reason: string | null
  readonly duration_ms: number
  readonly url: string
  readonly request_headers: string
  readonly response_headers: string | null
  readonly response_body: string | null
  readonly trace_id: string
}

export const attempts = ({ id }: Workspace) =>
  rows<AttemptRow>`select * from posthorn.attempts where workspace_id = ${id}
      order by delivery_id, ordinal`

export const endpointRow = (endpointId: string) =>
  row<{
    enabled: boolean
    disabled_reason: string | null
    consecutive_failures: number
  }>`select * from posthorn.endpoints where id = ${endpointId}`

export const queued = ({ id }: Workspace) =>
  Effect.map(
    row<{ n: number }>`select count(*)::integer as n from posthorn.queue where workspace_id = ${id}`,
    ({ n }) => n
  )

export { seen, until }

/** Nothing waits in the workspace any more. */
export const drained = (where: Workspace) => until(queued(where), (n) => n === 0)

export const statuses = (where: Workspace) =>
  Effect.map(deliveries(where), (rows) => rows.map((row) => row.status))
