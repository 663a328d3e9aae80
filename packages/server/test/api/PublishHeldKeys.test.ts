/** An open transaction holds idempotency keys. Only calls with these keys wait for it. */
import { expect, layer } from "@effect/vitest"
import * as Database from "@posthorn/persistence/client/Database"
import { atBest } from "@posthorn/testkit/AtBest"
import { TestDatabaseUrl } from "@posthorn/testkit/TestDatabaseUrl"
import { freshDatabase } from "@posthorn/testkit/TestPg"
import { Duration, Effect, Fiber, Layer, Redacted } from "effect"
import pg from "pg"
import { type Answer, type Entered, entered, type Loose, testServer } from "../TestServer.ts"

const CONNECTIONS = 4
const CALLS = 25

const database = Layer.unwrapEffect(
  Effect.map(TestDatabaseUrl, (url) =>
    Database.layer({ url, applicationName: "posthorn-test", maxConnections: CONNECTIONS })
  )
).pipe(Layer.orDie, Layer.provideMerge(Layer.scoped(TestDatabaseUrl, freshDatabase)))

/** A publisher's own connection. */
const connect = Effect.gen(function* () {
  const url = Redacted.value(yield* TestDatabaseUrl)
  const client = yield* Effect.acquireRelease(
    Effect.promise(async () => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      return client
    }),
    (client) => Effect.promise(() => client.end())
  )
  return (text: string, ...values: ReadonlyArray<string>) =>
    Effect.promise(() => client.query<{ id: string }>(text, [...values]))
})

const held = (slug: string, ...keys: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const query = yield* connect
    yield* query("begin")
    for (const key of keys)
      yield* query(`select from posthorn.publish($1, 'invoice.paid', '{"n":1}', $2)`, slug, key)
    return { commit: query("commit"), rollback: query("rollback") }
  })

const publish = ({ call }: Entered, idempotencyKey?: string, n = 1) =>
  call("POST", "/events", {
    body: { eventType: "invoice.paid", payload: { n }, ...(idempotencyKey && { idempotencyKey }) }
  })

const forked = (calls: ReadonlyArray<Effect.Effect<Answer<Loose>>>) =>
  Effect.forkDaemon(Effect.all(calls, { concurrency: "unbounded" }))

/** Far less than the 14 s that calls with a held key wait, and long enough for a busy machine. */
const OTHERS_MS = 5_000

/** The slowest of ten rounds of everyday calls by another workspace. */
const othersWait = (other: Entered) =>
  Effect.gen(function* () {
    let slowest = 0
    for (let n = 0; n < 10; n++) {
      const began = performance.now()
      const answers = [yield* publish(other), yield* other.call("GET", "/webhooks")]
      expect(answers.map(({ status }) => status)).toEqual([202, 200])
      slowest = Math.max(slowest, performance.now() - began)
    }
    return slowest
  })

layer(testServer({ database }), { excludeTestServices: true })("a held idempotency key", (it) => {
  it.scoped("§4.4 makes a single publish wait for the first one, and nobody else", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      const holder = yield* held(ws.slug, "k")
      const waiting = yield* forked([
        ...Array.from({ length: CALLS }, () => publish(ws, "k")),
        publish(ws, "k", 2)
      ])
      expect(yield* atBest(OTHERS_MS, othersWait(other), (ms) => ms)).toBeLessThan(OTHERS_MS)
      yield* holder.commit
      const answers = yield* Fiber.join(waiting)

      const reused = answers.pop()!
      expect(reused).toMatchObject({ status: 409, body: { _tag: "IdempotencyKeyReused" } })
      for (const { body, status } of answers) expect([status, body.duplicate]).toEqual([202, true])
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
    })
  )

  it.scoped(
    "§4.4 is free again after a rollback: one waiting call publishes, the others repeat its answer",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const holder = yield* held(ws.slug, "k")
        const waiting = yield* forked(Array.from({ length: CALLS }, () => publish(ws, "k")))
        yield* holder.rollback
        const answers = yield* Fiber.join(waiting)

        expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: CALLS }, () => 202))
        expect(answers.filter(({ body }) => body.duplicate === false)).toHaveLength(1)
        expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1)
      })
  )

  it.scoped("§4.4 does not slow others when many calls wait for it, also in batches", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      const keys = Array.from({ length: CALLS }, (_, n) => `k${n}`)
      const holder = yield* held(ws.slug, ...keys)
      const batches = keys.map((idempotencyKey) =>
        ws.call<Loose>("POST", "/events/batch", {
          body: { events: [{ eventType: "invoice.paid", payload: { n: 1 }, idempotencyKey }] }
        })
      )
      const waiting = yield* forked([...keys.map((key) => publish(ws, key)), ...batches])
      expect(yield* atBest(OTHERS_MS, othersWait(other), (ms) => ms)).toBeLessThan(OTHERS_MS)
      yield* holder.commit
      const answers = yield* Fiber.join(waiting)

      expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 2 * CALLS }, () => 202))
    })
  )

  it.scoped(
    "§4.4 that stays held becomes a 503 that says why, and leaves no statement behind",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        yield* held(ws.slug, "k")
        const answer = yield* publish(ws, "k")
        const query = yield* connect
        const left = yield* query(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
        )

        expect(answer.status).toBe(503)
        expect(answer.headers.get("retry-after")).toBe("2")
        expect(answer.body.detail).toBe(
          "Another call or transaction is still publishing with this idempotency key: try again in 2 s."
        )
        expect(left.rows).toEqual([])
      }),
    240_000
  )

  it.scoped(
    "§4 deleting an endpoint to which an open transaction has published is 503 within 5 s, and says why",
    () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const { body } = yield* ws.call("POST", "/webhooks", {
          body: { url: "https://example.com/hook", eventTypes: ["*"] }
        })
        yield* publish(ws)
        const holder = yield* held(ws.slug, "k")
        const [took, refused] = yield* atBest(
          5_000,
          ws.call("DELETE", `/webhooks/${body.id}`).pipe(Effect.timed),
          ([duration]) => Duration.toMillis(duration)
        )
        const kept = yield* ws.call("GET", `/webhooks/${body.id}/deliveries`)
        yield* holder.commit
        const deleted = yield* ws.call("DELETE", `/webhooks/${body.id}`)

        expect(Duration.toMillis(took)).toBeLessThan(5_000)
        expect([refused.status, refused.body.detail]).toEqual([
          503,
          "A transaction that published to this endpoint, or is changing it, is still open: try again in 2 s."
        ])
        expect(kept.body.items).toHaveLength(1)
        expect(deleted.status).toBe(204)
      })
  )
})
