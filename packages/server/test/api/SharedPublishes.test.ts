/** Publishes that arrive at the same moment share a statement, and each has its own outcome. */
import { connect as connectSocket } from "node:net"
import { expect, layer } from "@effect/vitest"
import { rows } from "@posthorn/testkit/Sql"
import { Effect, Fiber } from "effect"
import { connect, makeEndpoint, type Published } from "../Fixtures.ts"
import { type Entered, entered, type Loose, TestServer, testServer } from "../TestServer.ts"

const AT_ONCE = 60
const FAN_OUT = 3

type Body = Published & Loose

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

const post = (ws: Entered, body: object, headers: Record<string, string> = {}) =>
  ws.call<Body>("POST", "/events", { body: { eventType: "a.b", payload: 1, ...body }, headers })

/** Sends all at once; gives the answers in order. */
const atOnce = <A>(calls: ReadonlyArray<Effect.Effect<A>>) => Effect.all(calls, { concurrency: "unbounded" })

interface Stored {
  readonly id: string
  readonly payload: string
  readonly traceId: string
  readonly transaction: string
}

const storedOf = ({ workspaceId }: Entered) =>
  rows<Stored>`select id, payload, trace_id as "traceId", xmin::text as transaction
      from posthorn.events where workspace_id = ${workspaceId} and event_type like 'a.%' order by id`.pipe(
    Effect.orDie
  )

layer(testServer({ workspaceLimits: { fanOut: FAN_OUT } }), { excludeTestServices: true })(
  "publishes at the same moment",
  (it) => {
    it.effect("§6 are stored each with its own payload, trace and answer, in any number of workspaces", () =>
      Effect.gen(function* () {
        const workspaces = yield* Effect.all([entered, entered, entered])
        const endpoints = yield* Effect.all(workspaces.map((ws) => makeEndpoint(ws)))
        const traceOf = (n: number) => String(n).padStart(32, "7")
        const answers = yield* atOnce(
          numbers(AT_ONCE).map((n) =>
            post(workspaces[n % 3]!, { payload: n }, { traceparent: `00-${traceOf(n)}-${"1".repeat(16)}-01` })
          )
        )

        expect(answers.map(({ status }) => status)).toEqual(numbers(AT_ONCE).map(() => 202))
        const stored = (yield* Effect.all(workspaces.map(storedOf))).flat()
        expect(stored).toHaveLength(AT_ONCE)
        for (const [n, { body, headers }] of answers.entries()) {
          expect(stored.find(({ id }) => id === body.id)).toMatchObject({
            payload: String(n),
            traceId: traceOf(n)
          })
          expect(headers.get("x-trace-id")).toBe(traceOf(n))
          expect(body.deliveryIds).toHaveLength(1)
          const delivery = yield* workspaces[n % 3]!.call(
            "GET",
            `/webhooks/deliveries/${body.deliveryIds[0]}`
          )
          expect(delivery.body).toMatchObject({ payload: n, eventId: body.id, endpointId: endpoints[n % 3] })
        }
      })
    )

    it.effect("§4.4 are refused one by one: too many deliveries, a used key", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        for (const _ of numbers(FAN_OUT + 1)) yield* makeEndpoint(ws, { eventTypes: ["a.wide"] })
        yield* post(ws, { idempotencyKey: "used" })

        const answers = yield* atOnce(
          numbers(AT_ONCE).map((n) =>
            n % 10 === 3
              ? post(ws, { eventType: "a.wide" })
              : n % 10 === 5
                ? post(ws, { idempotencyKey: "used", payload: "another" })
                : post(ws, { payload: n })
          )
        )

        const tagOf = (n: number) => answers[n]!.body._tag
        for (const n of numbers(AT_ONCE)) {
          if (n % 10 === 3) {
            expect(answers[n]).toMatchObject({ status: 400, body: { issues: [{ path: "/eventType" }] } })
            expect(answers[n]!.text).toMatch(/LIMIT_FAN_OUT/)
          } else if (n % 10 === 5)
            expect([answers[n]!.status, tagOf(n)]).toEqual([409, "IdempotencyKeyReused"])
          else expect(answers[n]).toMatchObject({ status: 202, body: { duplicate: false } })
        }
        expect(yield* storedOf(ws)).toHaveLength(1 + answers.filter(({ status }) => status === 202).length)
      })
    )

    it.effect("§4.4 with one key make one event, whatever else is under way", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        yield* makeEndpoint(ws)
        const answers = yield* atOnce(
          numbers(AT_ONCE).map((n) => post(ws, { idempotencyKey: `k${n % 4}`, payload: n % 4 }))
        )
        const again = yield* atOnce(numbers(4).map((n) => post(ws, { idempotencyKey: `k${n}`, payload: n })))

        expect(yield* storedOf(ws)).toHaveLength(4)
        expect(answers.filter(({ body }) => !body.duplicate)).toHaveLength(4)
        for (const [n, { body }] of answers.entries()) {
          expect({ ...body, duplicate: true }).toEqual(again[n % 4]!.body)
          expect(body.deliveryIds).toHaveLength(1)
        }
      })
    )

    it.effect("§4.4 accept one of two different events with the same key, and refuse the other", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const answers = yield* atOnce(
          numbers(AT_ONCE).map((n) => post(ws, { idempotencyKey: "k", payload: n % 2 }))
        )

        const [event] = yield* storedOf(ws)
        const winner = Number(event!.payload)
        expect(yield* storedOf(ws)).toHaveLength(1)
        for (const [n, { body, status }] of answers.entries()) {
          if (n % 2 === winner) expect([status, body.id]).toEqual([202, event!.id])
          else expect([status, body._tag]).toEqual([409, "IdempotencyKeyReused"])
        }
      })
    )

    it.scoped("§4.4 do not wait for a locked key, except the one that uses it", () =>
      Effect.gen(function* () {
        const ws = yield* entered
        const holder = yield* connect
        const query = (text: string) => Effect.promise(() => holder.query(text))
        yield* query("begin")
        yield* query(`select posthorn.publish('${ws.slug}', 'a.b', '1', 'held')`)

        const waiting = yield* Effect.fork(post(ws, { idempotencyKey: "held" }))
        const others = yield* atOnce(
          numbers(AT_ONCE).map((n) => post(ws, n % 2 === 0 ? { payload: n } : { idempotencyKey: `free${n}` }))
        )
        expect(others.map(({ status }) => status)).toEqual(numbers(AT_ONCE).map(() => 202))
        expect(waiting.unsafePoll()).toBeNull()
        yield* query("commit")
        expect(yield* Fiber.join(waiting)).toMatchObject({ status: 202, body: { duplicate: true } })
      })
    )

    it.scoped("§4.4 do not wait for another publish's endpoint that is being deleted", () =>
      Effect.gen(function* () {
        const [ws, other] = [yield* entered, yield* entered]
        const endpointId = yield* makeEndpoint(ws)
        const holder = yield* connect
        const query = (text: string) => Effect.promise(() => holder.query(text))
        yield* query("begin")
        yield* query(`delete from posthorn.endpoints where id = '${endpointId}'`)

        const waiting = yield* Effect.fork(atOnce(numbers(5).map(() => post(ws, {}))))
        for (const _ of numbers(5)) {
          const others = yield* atOnce(numbers(10).map(() => post(other, {})))
          expect(others.map(({ status }) => status)).toEqual(numbers(10).map(() => 202))
        }
        expect(waiting.unsafePoll()).toBeNull()
        yield* query("commit")
        for (const { body, status } of yield* Fiber.join(waiting)) {
          expect([status, body.deliveryIds]).toEqual([202, []])
        }
      })
    )

    /** Publishes on one connection, written at once; gives the text of the answers. */
    const pipelined = (ws: Entered, url: string, count: number, first = 0, keyOfFirst?: string) =>
      Effect.async<string>((resume) => {
        const { hostname, port } = new URL(url)
        const requests = numbers(count).map((n) => {
          const key = n === 0 && keyOfFirst !== undefined ? `,"idempotencyKey":"${keyOfFirst}"` : ""
          const body = `{"eventType":"a.b","payload":${first + n}${key}}`
          return `POST /workspaces/${ws.slug}/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${ws.token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
        })
        let received = ""
        const socket = connectSocket(Number(port), hostname, () => socket.write(requests.join("")))
        socket.on("data", (chunk) => {
          received += chunk
          if (received.split("HTTP/1.1 202").length > count) {
            socket.destroy()
            resume(Effect.succeed(received))
          }
        })
      }).pipe(Effect.timeout("60 seconds"), Effect.orDie)

    it.effect("§4.4 share transactions, and keep their order within a connection", () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        const others = yield* Effect.fork(atOnce(numbers(AT_ONCE).map(() => post(ws, { payload: "other" }))))
        const text = yield* pipelined(ws, url, AT_ONCE)
        yield* Fiber.join(others)

        const stored = (yield* storedOf(ws)).filter(({ payload }) => payload !== '"other"')
        expect(stored.map(({ payload }) => Number(payload))).toEqual(numbers(AT_ONCE))
        expect(new Set(stored.map(({ transaction }) => transaction)).size).toBeLessThanOrEqual(AT_ONCE / 4)
        expect(text.match(/evt_[0-9a-f]{29}/g)).toEqual(stored.map(({ id }) => id))
      })
    )

    it.effect("§4.4 keep their order when a token that was not used for a while is looked up again", () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        for (const burst of numbers(4)) {
          // biome-ignore lint/plugin: a token is forgotten after this time
          yield* Effect.sleep("1 second")
          yield* pipelined(ws, url, 20, burst * 20)
        }
        const stored = yield* storedOf(ws)
        expect(stored.map(({ payload }) => Number(payload))).toEqual(numbers(80))
      })
    )

    it.scoped("§4.4 keep their order behind one whose idempotency key is waited for already", () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        const holder = yield* connect
        const query = (text: string, ...values: ReadonlyArray<string>) =>
          Effect.promise(() => holder.query(text, [...values]))
        yield* query("begin")
        yield* query("select from posthorn.publish($1, 'x.y', '0', 'held')", ws.slug)
        const waiting = yield* Effect.fork(post(ws, { payload: 0, idempotencyKey: "held" }))
        // By then it waits outside of the shared statements.
        for (const _ of numbers(5)) yield* post(ws, { payload: "other" })
        const line = yield* Effect.fork(pipelined(ws, url, 20, 0, "held"))
        for (const _ of numbers(10)) yield* post(ws, { payload: "other" })
        const early = (yield* storedOf(ws)).filter(({ payload }) => payload !== '"other"')
        yield* query("rollback")
        yield* Fiber.join(line)
        yield* Fiber.join(waiting)

        expect(early).toEqual([])
        const stored = (yield* storedOf(ws)).filter(({ payload }) => payload !== '"other"')
        expect(stored.map(({ payload }) => Number(payload))).toEqual(numbers(20))
      })
    )

    it.scoped("§4.4 keep their order while another transaction locks a matching endpoint now and then", () =>
      Effect.gen(function* () {
        const { url } = yield* TestServer
        const ws = yield* entered
        yield* makeEndpoint(ws)
        const holder = yield* connect
        const query = (text: string) => Effect.promise(() => holder.query(text, [ws.workspaceId]))
        const hold = Effect.gen(function* () {
          yield* Effect.promise(() => holder.query("begin"))
          yield* query("select from posthorn.endpoints where workspace_id = $1 for update")
          // biome-ignore lint/plugin: for so long the lock is held
          yield* Effect.sleep("150 millis")
          yield* Effect.promise(() => holder.query("rollback"))
          // biome-ignore lint/plugin: for so long the lock is free
          yield* Effect.sleep("20 millis")
        })
        const holding = yield* Effect.fork(Effect.forever(hold))
        const side = yield* Effect.fork(atOnce(numbers(AT_ONCE).map(() => post(ws, { payload: "other" }))))
        for (const burst of numbers(6)) yield* pipelined(ws, url, AT_ONCE, burst * AT_ONCE)
        yield* Fiber.interrupt(holding)
        yield* Fiber.join(side)

        const stored = (yield* storedOf(ws)).filter(({ payload }) => payload !== '"other"')
        expect(stored.map(({ payload }) => Number(payload))).toEqual(numbers(6 * AT_ONCE))
      })
    )
  }
)
