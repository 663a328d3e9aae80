/**
 * The yardstick of publishing over REST: Fastify with a schema for the body, a token check, and one insert for each
 * request; a batch is one insert of all its rows.
 */
import { createHash, timingSafeEqual } from "node:crypto"
import Fastify from "fastify"
import pg from "pg"

const { DATABASE_URL, PORT, TOKEN } = process.env
const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 20 })
const digest = (text) => createHash("sha256").update(text).digest()
const expected = digest(`Bearer ${TOKEN}`)

const event = {
  type: "object",
  required: ["eventType", "payload"],
  additionalProperties: false,
  properties: {
    eventType: { type: "string", maxLength: 128, pattern: "^[A-Za-z0-9_]+(\\.[A-Za-z0-9_]+)*$" },
    payload: {},
    idempotencyKey: { type: "string", minLength: 1, maxLength: 255 }
  }
}
const events = {
  type: "object",
  required: ["events"],
  properties: { events: { type: "array", minItems: 1, maxItems: 1000, items: event } }
}
const answer = { type: "object", properties: { id: { type: "string" }, eventType: { type: "string" } } }
const answers = { type: "object", properties: { items: { type: "array", items: answer } } }

const app = Fastify({ logger: false })
app.addHook("onRequest", async (request, reply) => {
  if (!timingSafeEqual(digest(request.headers.authorization ?? ""), expected))
    return reply.code(401).send({ error: "Unauthorized" })
})
app.post(
  "/workspaces/:slug/events",
  { schema: { body: event, response: { 202: answer } } },
  async ({ body: { eventType, payload } }, reply) => {
    const { rows } = await pool.query({
      name: "one",
      text: "insert into app.outbox (event_type, payload) values ($1, $2) returning id",
      values: [eventType, JSON.stringify(payload)]
    })
    reply.code(202)
    return { id: rows[0].id, eventType }
  }
)
app.post(
  "/workspaces/:slug/events/batch",
  { schema: { body: events, response: { 202: answers } } },
  async ({ body }, reply) => {
    const { rows } = await pool.query({
      name: "many",
      text: `insert into app.outbox (event_type, payload) select * from unnest($1::text[], $2::json[])
        returning id, event_type as "eventType"`,
      values: [
        body.events.map(({ eventType }) => eventType),
        body.events.map(({ payload }) => JSON.stringify(payload))
      ]
    })
    reply.code(202)
    return { items: rows }
  }
)
await app.listen({ host: "127.0.0.1", port: Number(PORT) })
