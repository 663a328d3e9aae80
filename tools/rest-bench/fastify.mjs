/**
 * The yardstick: Fastify answering the same list, with a response schema (its fast serialiser) and a token check.
 *
 * MODE=sql asks PostgreSQL the same question per request that Posthorn asks; MODE=memory answers rows that it
 * read once, at start, and still serialises them per request.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import Fastify from "fastify"
import pg from "pg"

const { DATABASE_URL, ENDPOINT, MODE, PORT, TOKEN } = process.env
const TIMESTAMPTZ = 1184
const types = {
  getTypeParser: (oid, format) =>
    oid === TIMESTAMPTZ
      ? (text) => `${text.slice(0, 10)}T${text.slice(11, 19)}.${text.slice(20, -3).padEnd(3, "0")}Z`
      : pg.types.getTypeParser(oid, format)
}
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 20, types })

const COLUMNS = `d.id, d.endpoint_id as "endpointId", d.event_id as "eventId", d.event_type as "eventType", d.status,
  d.attempts, d.next_attempt_at as "nextAttemptAt", coalesce(d.payload, (
    select e.payload from posthorn.events e where e.workspace_id = d.workspace_id and e.id = d.event_id)) as payload,
  d.replayed_from as "replayedFrom",
  d.last_http_status as "lastHttpStatus", d.last_failure_reason as "lastFailureReason",
  d.last_duration_ms as "lastDurationMs", d.last_attempt_at as "lastAttemptAt", d.created_at as "createdAt"`

const identities = new Map()

/** The token's row, remembered for half a second as Posthorn does. */
const identify = async (authorization) => {
  const match = /^Bearer phk_([0-9a-f]{29})_([0-9a-f]{64})_[0-9a-f]{8}$/.exec(authorization ?? "")
  if (match === null) return undefined
  let known = identities.get(match[1])
  if (known === undefined || known.until < Date.now()) {
    const { rows } = await pool.query(
      `select t.workspace_id, w.slug, t.secret_hash from posthorn.api_tokens t
       join posthorn.workspaces w on w.id = t.workspace_id where t.id = $1`,
      [`tok_${match[1]}`]
    )
    known = { row: rows[0], until: Date.now() + 500 }
    identities.set(match[1], known)
  }
  const hash = createHash("sha256").update(match[2]).digest()
  return known.row !== undefined && timingSafeEqual(hash, known.row.secret_hash) ? known.row : undefined
}

const nullable = (type) => ({ type: [type, "null"] })
const string = { type: "string" }
const integer = { type: "integer" }
const item = {
  type: "object",
  properties: {
    id: string,
    endpointId: string,
    eventId: nullable("string"),
    eventType: string,
    status: string,
    attempts: integer,
    nextAttemptAt: nullable("string"),
    payload: { type: "object", additionalProperties: true },
    replayedFrom: nullable("string"),
    lastHttpStatus: nullable("integer"),
    lastFailureReason: nullable("string"),
    lastDurationMs: nullable("integer"),
    lastAttemptAt: nullable("string"),
    createdAt: string
  }
}
const page = {
  type: "object",
  properties: { items: { type: "array", items: item }, nextCursor: nullable("string") }
}

const list = async (workspaceId, endpointId, limit) => {
  const { rows } = await pool.query(
    `select ${COLUMNS} from posthorn.deliveries d where d.workspace_id = $1 and d.endpoint_id = $2
     order by d.id desc limit $3`,
    [workspaceId, endpointId, limit + 1]
  )
  const items = rows.slice(0, limit).map((row) => ({ ...row, payload: JSON.parse(row.payload) }))
  const last = items[limit - 1]
  const nextCursor = rows.length > limit ? btoa(JSON.stringify({ at: last.createdAt, id: last.id })) : null
  return { items, nextCursor }
}

const exists = async (workspaceId, endpointId) => {
  const { rows } = await pool.query(
    "select id, enabled from posthorn.endpoints where workspace_id = $1 and id = $2",
    [workspaceId, endpointId]
  )
  return rows.length > 0
}

const { workspace_id: workspace } = await identify(`Bearer ${TOKEN}`)
const constant = await list(workspace, ENDPOINT, 50)

const app = Fastify({ logger: false })
app.decorateRequest("identity", null)
app.addHook("onRequest", async (request, reply) => {
  request.identity = await identify(request.headers.authorization)
  if (request.identity === undefined) return reply.code(401).send({ error: "Unauthorized" })
})
app.get(
  "/workspaces/:slug/webhooks/:endpointId/deliveries",
  { schema: { response: { 200: page } } },
  async (request, reply) => {
    const { endpointId, slug } = request.params
    if (slug !== request.identity.slug) return reply.code(404).send({ error: "WorkspaceNotFound" })
    if (MODE === "memory") return constant
    const limit = Math.min(200, Math.max(1, Number(request.query.limit ?? 50)))
    const found = await list(request.identity.workspace_id, endpointId, limit)
    if (found.items.length === 0 && !(await exists(request.identity.workspace_id, endpointId))) {
      return reply.code(404).send({ error: "WebhookEndpointNotFound" })
    }
    return found
  }
)
await app.listen({ host: "127.0.0.1", port: Number(PORT) })
