/**
 * Two workspaces, for tests of whether one can learn about the other or change it.
 *
 * `furnish` fills a workspace with one of everything, and each text contains the workspace's word. `marksOf` reads all
 * values in a workspace's rows that no other workspace has, including future columns. `pictureOf` gives all its rows.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { prefixes } from "@posthorn/domain/Ids"
import { rows } from "@posthorn/testkit/Sql"
import { Effect } from "effect"
import { makeEndpoint, observe, publish } from "../Fixtures.ts"
import { makeWorld, type World } from "../Samples.ts"
import type { Entered } from "../TestServer.ts"

/** Changed by every call of a token or a session, including its own. */
const MOVING = ["last_used_at", "last_seen_at"]

/** Fills a workspace; every text that a caller may choose contains `word`. */
export const furnish = (ws: Entered, word: string) =>
  Effect.gen(function* () {
    const eventType = `${word}.begun`
    const at = yield* makeEndpoint(ws, {
      url: `https://${word}.example.com/hooks`,
      description: `${word} description`,
      eventTypes: [eventType]
    })
    const published = yield* publish(ws, eventType, { [word]: `${word} payload` })
    yield* observe(ws, published.deliveryIds[0]!, { status: "failed_permanent", httpStatus: 404 })
    yield* ws.call("POST", "/events", {
      body: { eventType, payload: word, idempotencyKey: `${word}-key-of-an-event` }
    })
    yield* ws.call("POST", "/members", {
      body: { email: `${word}@example.com`, name: `${word} person`, role: "viewer" }
    })
    yield* ws.call("POST", "/api-tokens", { body: { name: `${word} token`, scopes: ["read"] } })
    yield* ws.call("POST", "/console-links", {
      body: { role: "viewer" },
      headers: { "idempotency-key": `${word}-key` }
    })
    yield* ws.call("POST", `/webhooks/${at}/replays`, { body: { since: "2026-01-01T00:00:00.000Z" } })
    return yield* makeWorld(ws)
  })

/** Tables with rows of workspaces, and all their rows of one workspace. */
const tables = rows<{ name: string }>`select c.relname as name from pg_class c
      join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id'
      where c.relnamespace = 'posthorn'::regnamespace and c.relkind = 'r' order by 1`

/** Every row of a workspace as text, without the times that its own calls change. */
export const pictureOf = (workspaceId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const picture: Record<string, ReadonlyArray<string>> = {}
    for (const { name } of yield* tables) {
      const rows = yield* sql<{ row: string }>`
        select (to_jsonb(t) - ${MOVING}::text[])::text as row from ${sql(`posthorn.${name}`)} t
        where workspace_id = ${workspaceId} order by 1`
      picture[name] = rows.map(({ row }) => row)
    }
    return picture
  }).pipe(Effect.orDie)

const ID = new RegExp(`(?:${Object.values(prefixes).join("|")})[0-9a-f]{29}`, "g")

/** Every id in a text. */
export const idsIn = (text: string): ReadonlySet<string> => new Set(text.match(ID))

/** The workspace's ids by noun; nouns without an id are left out. */
export const idsOf = (ws: Entered) =>
  Effect.map(pictureOf(ws.workspaceId), (picture) => {
    const all = [...idsIn(JSON.stringify(picture))]
    return Object.fromEntries(
      Object.entries(prefixes).flatMap(([noun, prefix]) => {
        const found = all.find((id) => id.startsWith(prefix))
        return found === undefined ? [] : [[noun, found]]
      })
    )
  })

/** What only the workspace may see: its ids, trace ids, slug, and the word in its texts. */
export const marksOf = (ws: Entered, word: string) =>
  Effect.map(pictureOf(ws.workspaceId), (picture): ReadonlySet<string> => {
    const text = JSON.stringify(picture)
    const traces = [...text.matchAll(/trace_id\\":\s*\\"([0-9a-f]{32})/g)].map(([, id]) => id!)
    return new Set([...idsIn(text), ...traces, ws.workspaceId, `"${ws.slug}"`, `/${ws.slug}/`, word])
  })

/** What could be sent in place of an own id: one id of each noun, and every other name of something in the workspace. */
export const foreignOf = (ws: Entered, world: World, word: string) =>
  Effect.map(
    idsOf(ws),
    (ids): Readonly<Record<string, string>> => ({
      ...ids,
      traceId: world.traceId!,
      slug: ws.slug,
      eventType: `${word}.begun`,
      email: `${word}@example.com`,
      "idempotency key": `${word}-key`,
      "key of an event": `${word}-key-of-an-event`
    })
  )

/** A text of the same form that does not exist. */
export const nobodys = (foreign: string) =>
  /^[a-z]{3}_[0-9a-f]{29}$/.test(foreign)
    ? `${foreign.slice(0, 4)}${"0".repeat(29)}`
    : /^[0-9a-f]{32}$/.test(foreign)
      ? [...foreign].reverse().join("")
      : foreign.replace(/^[a-z]+/, "nobody")
