/**
 * Two tenants are busy at the same moment on one server, with the same keys, while the database keeps ending connections.
 * Publishes share statements, connections are reused, transactions end in the middle. No answer ever contains an id or a
 * text of the other tenant, and no accepted event has the other's payload.
 */
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { entries } from "@posthorn/api-contract/Contract"
import { Effect, Layer, Logger, LogLevel } from "effect"
import { connect } from "../Fixtures.ts"
import type { World } from "../Samples.ts"
import { type Entered, entered, testServer } from "../TestServer.ts"
import { foreignOf, furnish, idsIn, pictureOf } from "./Tenants.ts"
import { askedOf, type Transport, transportsOf } from "./Transports.ts"

const ROUNDS = 40
const AT_ONCE = 24
/** Of each tenant, before connections are ended again. */
const CALLS_A_CUT = 3
const LEAST_ENDED = 20
const WORDS = ["apple", "zebra"] as const

interface Answered {
  readonly what: string
  readonly status: number
  readonly text: string
}

interface Tenant {
  readonly ws: Entered
  readonly world: World
  readonly word: string
  readonly transports: ReadonlyArray<Transport>
  readonly answers: Array<Answered>
}

const operation = (name: string) => entries.find((entry) => entry.name === name)!

const reading = entries.filter(
  ({ inWorkspace, method, rules }) => inWorkspace && method === "GET" && rules.permission !== "operator"
)

const tenant = (word: string) =>
  Effect.gen(function* () {
    const ws = yield* entered
    const world = yield* furnish(ws, word)
    return { ws, world, word, transports: yield* transportsOf(ws), answers: [] } as Tenant
  })

/** One round of a tenant: it publishes, writes, reads everything it may, and asks for ids of the other tenant. */
const round = (
  { answers, transports, word, world }: Tenant,
  foreign: Readonly<Record<string, string>>,
  n: number
) => {
  const transport = transports[n % transports.length]!
  const keep = (what: string) => (told: { readonly status: number; readonly text: string }) =>
    Effect.sync(() => void answers.push({ what, status: told.status, text: told.text }))
  const send = (name: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    Effect.tap(
      transport.ask(operation(name), { ...askedOf(operation(name), world), body, headers }),
      keep(name)
    )
  const eventType = "load.both"
  const payload = { [word]: n }
  const theirs = (name: string, parameter: string, id: string) =>
    Effect.tap(
      transport.ask(operation(name), {
        ...askedOf(operation(name), world),
        path: { ...world, [parameter]: id }
      }),
      keep(`${name} of the other`)
    )
  return [
    send("publishEvent", { eventType, payload, idempotencyKey: `both-${n}` }),
    send("publishEvent", { eventType, payload }),
    send("publishEvents", {
      events: [
        { eventType, payload },
        { eventType, payload }
      ]
    }),
    send(
      "addMember",
      { email: `${n}@example.com`, name: `${word} ${n}`, role: "viewer" },
      { "idempotency-key": `k-${n}` }
    ),
    Effect.tap(
      transport.ask(reading[n % reading.length]!, askedOf(reading[n % reading.length]!, world)),
      keep("read")
    ),
    theirs("getEvent", "eventId", foreign.event!),
    theirs("getWebhookDelivery", "deliveryId", foreign.delivery!),
    theirs("updateWebhookEndpoint", "endpointId", foreign.endpoint!)
  ]
}

const END_SOME = `select pg_terminate_backend(pid) from (
    select pid from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
      and backend_type = 'client backend' order by (state = 'active') desc, random() limit 2) victims`

const quietly = testServer().pipe(Layer.provide(Logger.minimumLogLevel(LogLevel.None)))

layer(quietly, { excludeTestServices: true })("two tenants at the same moment", (it) => {
  it.scoped(
    "§5.1 no answer contains anything of the other, though connections of both are ended",
    () =>
      Effect.gen(function* () {
        const tenants = [yield* tenant(WORDS[0]), yield* tenant(WORDS[1])] as const
        const [a, b] = tenants
        const foreign = [
          yield* foreignOf(b.ws, b.world, b.word),
          yield* foreignOf(a.ws, a.world, a.word)
        ] as const
        const knife = yield* connect
        let ended = 0
        const endSome = Effect.promise(() => knife.query(END_SOME)).pipe(
          Effect.tap(({ rowCount }) => Effect.sync(() => (ended += rowCount ?? 0)))
        )
        // The knife keeps pace with the calls, not with a clock: on a slow machine it would leave nothing to be accepted.
        yield* Effect.all(
          Array.from({ length: ROUNDS }, (_, n) => n).flatMap((n) =>
            round(a, foreign[0], n).flatMap((one, i) => [
              one,
              round(b, foreign[1], n)[i]!,
              ...(i % CALLS_A_CUT === 0 ? [endSome] : [])
            ])
          ),
          { concurrency: AT_ONCE, discard: true }
        )
        const sql = yield* SqlClient
        // Some of the pool's connections have been ended just now.
        const pictures = yield* Effect.forEach(tenants, ({ ws }) =>
          Effect.retry(pictureOf(ws.workspaceId), { times: 50 })
        )
        const known = pictures.map((picture) => idsIn(JSON.stringify(picture)))

        for (const [n, { answers, word, ws }] of tenants.entries()) {
          const other = tenants[1 - n]!
          const strange = answers.filter(
            ({ text }) =>
              text.includes(other.word) ||
              text.includes(`/${other.ws.slug}/`) ||
              [...idsIn(text)].some((id) => known[1 - n]!.has(id))
          )
          const statuses = new Set(answers.map(({ status }) => status))
          const found = answers.filter(({ what, status }) => what.endsWith("other") && status < 400)
          const accepted = answers
            .filter(({ what, status }) => what.startsWith("publish") && status === 202)
            .flatMap(({ text }) => [...idsIn(text)].filter((id) => id.startsWith("evt_")))
          const stored = yield* Effect.retry(
            sql<{ id: string; payload: string }>`select id, payload from posthorn.events
              where workspace_id = ${ws.workspaceId} and event_type = 'load.both'`,
            { times: 50 }
          )
          const payloads = new Map(stored.map(({ id, payload }) => [id, payload]))

          expect(strange).toEqual([])
          expect(found).toEqual([])
          expect([...statuses].filter((status) => ![200, 201, 202, 404, 409, 503].includes(status))).toEqual(
            []
          )
          expect(accepted.filter((id) => !payloads.get(id)?.includes(`"${word}"`))).toEqual([])
          expect(stored.filter(({ payload }) => !payload.includes(`"${word}"`))).toEqual([])
          expect(accepted.length).toBeGreaterThan(ROUNDS / 2)
        }
        const all = tenants.flatMap(({ answers }) => answers)
        expect(all.length).toBe(2 * ROUNDS * 8)
        expect(all.some(({ status }) => status === 503)).toBe(true)
        expect(ended).toBeGreaterThan(LEAST_ENDED)
      }).pipe(Effect.timeout("220 seconds")),
    240_000
  )
})
