/** The outcomes of publishes that share statements. Over HTTP: packages/server/test/api/SharedPublishes.test.ts. */
import { expect, layer } from "@effect/vitest"
import { JsonText } from "@posthorn/domain/JsonText"
import { nextTurn } from "@posthorn/domain/NextTurn"
import { connect, workspace } from "@posthorn/testkit/Seeds"
import { rows } from "@posthorn/testkit/Sql"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Effect, Fiber, Layer } from "effect"
import { EventsRepo } from "../../src/repositories/EventsRepo.ts"

const AT_ONCE = 100

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

const makeWorkspace = (slug: string) => Effect.map(workspace(slug), ({ id }) => id)

const publishAll = (workspaceId: string, count: number) =>
  Effect.all(
    numbers(count).map((n) => publish(workspaceId, String(n))),
    { concurrency: "unbounded" }
  )

const publish = (
  workspaceId: string,
  text: string,
  {
    connection = null,
    key = null
  }: { readonly connection?: string | null; readonly key?: string | null } = {}
) =>
  Effect.flatMap(EventsRepo, (events) =>
    events.publish({
      workspaceId,
      connection,
      actor: { type: "operator", id: "operator", via: "rest" },
      event: {
        eventType: "a.b",
        payload: new JsonText(text),
        idempotencyKey: key,
        endpointIds: null,
        retry: true
      },
      traceId: "7".repeat(32),
      mostDeliveries: 1_000
    })
  )

interface Stored {
  readonly payload: string
  readonly transaction: string
}

const storedOf = (workspaceId: string) =>
  rows<Stored>`select payload, xmin::text as transaction from posthorn.events
      where workspace_id = ${workspaceId} order by id`

layer(EventsRepo.Default.pipe(Layer.provideMerge(TestPg)), { excludeTestServices: true })(
  "publishes that share statements",
  (it) => {
    it.effect("§4.4 are refused alone when their workspace does not exist", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace("known")
        const outcomes = yield* Effect.all(
          numbers(AT_ONCE).map((n) =>
            Effect.either(publish(n % 7 === 3 ? "wsp_unknown" : workspaceId, String(n)))
          ),
          { concurrency: "unbounded" }
        )

        for (const [n, outcome] of outcomes.entries()) {
          if (n % 7 === 3) expect(outcome).toMatchObject({ left: { _tag: "WorkspaceNotFound" } })
          else expect(outcome).toMatchObject({ right: { deliveryIds: [], duplicate: false } })
        }
        const stored = yield* storedOf(workspaceId)
        expect(stored.map(({ payload }) => Number(payload))).toEqual(
          numbers(AT_ONCE).filter((n) => n % 7 !== 3)
        )
        expect(new Set(stored.map(({ transaction }) => transaction)).size).toBeLessThanOrEqual(AT_ONCE / 10)
      })
    )

    it.effect("§2.7 each get their own statement when PostgreSQL refuses the shared one", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace("broken")
        const outcomes = yield* Effect.all(
          numbers(10).map((n) => Effect.exit(publish(workspaceId, n === 4 ? "no JSON" : String(n)))),
          { concurrency: "unbounded" }
        )

        expect(outcomes.map(({ _tag }) => _tag)).toEqual(
          numbers(10).map((n) => (n === 4 ? "Failure" : "Success"))
        )
        expect(yield* storedOf(workspaceId)).toHaveLength(9)
      })
    )

    it.effect("§4.4 of one workspace leave room in each statement for those of others", () =>
      Effect.gen(function* () {
        const flood = yield* makeWorkspace("flood")
        const other = yield* makeWorkspace("other")
        const flooding = yield* Effect.fork(publishAll(flood, 2_000))
        yield* storedOf(flood).pipe(Effect.repeat({ until: (rows) => rows.length > 0 }))
        yield* publish(other, "1")
        const before = yield* storedOf(flood)
        yield* Fiber.join(flooding)

        expect(before.length).toBeLessThan(2_000)
        expect((yield* storedOf(flood)).map(({ payload }) => Number(payload))).toEqual(numbers(2_000))
      })
    )

    it.effect("§6 are not stored when their callers are gone before they are sent", () =>
      Effect.gen(function* () {
        const workspaceId = yield* makeWorkspace("gone")
        const gone = yield* Effect.fork(publishAll(workspaceId, 50))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(gone)
        yield* publish(workspaceId, "99")

        expect((yield* storedOf(workspaceId)).map(({ payload }) => payload)).toEqual(["99"])
      })
    )

    it.scoped(
      "§6 leave nothing behind on their connection when their callers go away, at whatever moment",
      () =>
        Effect.gen(function* () {
          const workspaceId = yield* makeWorkspace("left")
          const connection = "192.0.2.1 4711"
          const query = yield* connect
          yield* query("begin")
          yield* query("select posthorn.publish('left', 'a.b', '0', 'held')")
          for (const turns of numbers(20)) {
            const gone = yield* Effect.fork(publish(workspaceId, "1", { connection, key: "held" }))
            yield* Effect.repeatN(nextTurn, turns)
            yield* Fiber.interrupt(gone)
            // Its statement is over: this one waited for it.
            yield* publish(workspaceId, "2")
          }
          yield* query("commit")
          yield* Effect.all(
            numbers(10).map(() => publish(workspaceId, "3", { connection })),
            { concurrency: "unbounded" }
          )

          const together = (yield* storedOf(workspaceId)).filter(({ payload }) => payload === "3")
          expect(together).toHaveLength(10)
          expect(new Set(together.map(({ transaction }) => transaction)).size).toBe(1)
        })
    )
  }
)
