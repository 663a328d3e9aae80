/** Who gets an event where endpoints have filters. Source: spec §6.3. */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { workspace } from "@posthorn/testkit/Seeds"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect } from "effect"
import { filtered } from "./Filtered.ts"

const outcomes = (workspaceId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    return yield* sql<{
      sent: ReadonlyArray<string>
      missed: ReadonlyArray<string>
      deliveries: number
      unfilterable: boolean | null
    }>`
      select array(select d.endpoint_id::text from posthorn.deliveries d join posthorn.queue q on q.workspace_id = d.workspace_id and q.delivery_id = d.id
          where d.workspace_id = e.workspace_id and d.event_id = e.id order by 1) as sent,
        array(select m.endpoint_id::text from posthorn.missed_events m where m.workspace_id = e.workspace_id and m.event_id = e.id order by 1) as missed,
        e.deliveries, e.unfilterable
      from posthorn.events e where e.workspace_id = ${workspaceId} order by e.id`
  })

const PAID = '{"status":"paid"}'
const OPEN = '{"status":"open"}'

/** Each way in, for events of one workspace. */
const ways: Readonly<
  Record<
    string,
    (slug: string, id: string, payloads: ReadonlyArray<string>) => Effect.Effect<unknown, unknown, SqlClient>
  >
> = {
  "publish, each alone": (slug, _, payloads) =>
    Effect.flatMap(SqlClient, (sql) =>
      Effect.forEach(payloads, (payload) => sql`select posthorn.publish(${slug}, 'a.b', ${payload}::json)`)
    ),
  "publish with a key": (slug, _, payloads) =>
    Effect.flatMap(SqlClient, (sql) =>
      Effect.forEach(
        payloads,
        (payload, at) => sql`select posthorn.publish(${slug}, 'a.b', ${payload}::json, ${`key-${at}`})`
      )
    ),
  publish_events: (slug, _, payloads) =>
    Effect.flatMap(
      SqlClient,
      (
        sql
      ) => sql`select posthorn.publish_events(${slug}, ${payloads.map(() => "a.b")}, ${payloads as Array<string>}::text[]::json[],
        ${payloads.map(() => null) as unknown as Array<string>}::text[])`
    ),
  "the shared statement": (_, id, payloads) =>
    Effect.flatMap(
      SqlClient,
      (
        sql
      ) => sql`select * from posthorn.try_publish_each(${payloads.map(() => id)}, ${payloads.map(() => "a.b")},
        ${payloads as Array<string>}::text[]::json[], ${payloads.map(() => null) as unknown as Array<string>}::text[],
        ${payloads.map(() => null) as unknown as Array<string>}::text[], 100, ${payloads.map(() => "system sql me")})`
    )
}

layer(TestPg, { excludeTestServices: true })("filters at publishing", (it) => {
  for (const [name, publish] of Object.entries(ways))
    it.effect(`§6.3 exactly the endpoints whose filter holds get the event, or miss it: ${name}`, () =>
      Effect.gen(function* () {
        const { id, slug } = yield* workspace()
        const all = yield* filtered(id, null)
        const paid = yield* filtered(id, PAID)
        const same = yield* filtered(id, PAID)
        const open = yield* filtered(id, OPEN)
        const away = yield* filtered(id, PAID, false)
        yield* filtered(id, OPEN, false)
        const other = yield* filtered(id, '{"$not":{"status":{"$in":["paid","open"]}}}')

        yield* publish(slug, id, [PAID, OPEN, '{"status":"\\u0000"}', "[]"])

        const found = yield* outcomes(id)
        expect(found.map(({ missed }) => missed.length)).toEqual([1, 1, 2, 0])
        expect(found).toMatchObject([
          { sent: [all, paid, same], missed: [away], deliveries: 3, unfilterable: null },
          { sent: [all, open], deliveries: 2, unfilterable: null },
          { sent: [all, paid, same, open, other], deliveries: 5, unfilterable: true },
          { sent: [all, other], missed: [], deliveries: 2, unfilterable: null }
        ])
      })
    )

  it.effect("§6.3 an event that nobody wants is stored, and wakes nobody", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { id, slug } = yield* workspace()
      yield* filtered(id, PAID)
      yield* sql`select posthorn.publish(${slug}, 'a.b', ${OPEN}::json)`
      expect(yield* outcomes(id)).toEqual([{ sent: [], missed: [], deliveries: 0, unfilterable: null }])
    })
  )

  it.effect(
    "§6.3 a publish that names endpoints, and a test of Posthorn's own, pass by filters or are judged",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { id, slug } = yield* workspace()
        const paid = yield* filtered(id, PAID)
        const owner = yield* filtered(id, '{"role":"owner"}')
        yield* sql`select posthorn.publish(${slug}, 'a.b', ${OPEN}::json, endpoint_ids => array[${paid}])`
        yield* sql`select posthorn.announce(${id}, 'member.added', '{"role":"owner"}', 't', null, 'system worker worker')`
        expect((yield* outcomes(id)).map(({ sent }) => sent)).toEqual([[paid], [owner]])
      })
  )

  it.effect("§6.3 §4.4 counts against the limit of deliveries only what filters let through", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { id } = yield* workspace()
      for (let more = 0; more < 3; more++) yield* filtered(id, PAID)
      yield* filtered(id, OPEN)
      const batch = (payloads: ReadonlyArray<string>, most: number) =>
        Effect.either(sql`select * from posthorn.publish_all(${id}, ${payloads.map(() => "a.b")}, ${payloads as Array<string>}::text[]::json[],
          ${payloads.map(() => null) as unknown as Array<string>}::text[], null, ${most}, 'system sql me', null, null)`)
      expect((yield* batch([PAID, OPEN, OPEN], 4))._tag).toBe("Left")
      expect((yield* batch([PAID, OPEN, OPEN], 5))._tag).toBe("Right")
      expect((yield* outcomes(id)).map(({ deliveries }) => deliveries)).toEqual([3, 1, 1])
    })
  )
})
