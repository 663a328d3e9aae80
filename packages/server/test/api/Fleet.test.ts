/** All workspaces in one list, for the operator. */
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeEndpoint, observe, publish, walk } from "../Fixtures.ts"
import { entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

layer(testServer(), { excludeTestServices: true })("the fleet", (it) => {
  it.effect("§5.2 lists all workspaces by waiting deliveries, each once, with endpoint states", () =>
    Effect.gen(function* () {
      const { call } = yield* TestServer
      const [quiet, busy, some] = [yield* entered, yield* entered, yield* entered]
      yield* makeEndpoint(busy, { eventTypes: ["invoice.*"] })
      const off = yield* makeEndpoint(busy, { eventTypes: ["other"] })
      yield* busy.call("PATCH", `/webhooks/${off}`, { body: { enabled: false } })
      yield* makeEndpoint(some)
      for (let n = 0; n < 3; n++) {
        const { deliveryIds } = yield* publish(busy)
        yield* observe(busy, deliveryIds[0]!, { status: "failed", httpStatus: 500 })
      }
      yield* publish(some)

      const asOperator: typeof call = (method, path) => call(method, path, { token: OPERATOR_TOKEN })
      const whole = (yield* asOperator("GET", "/fleet?limit=200")).body
      const { items, pages } = yield* walk(asOperator, "/fleet", 2)
      const of = ({ slug }: { readonly slug: string }) => whole.items.find((item) => item.slug === slug)

      expect(of(busy)).toEqual({
        id: busy.workspaceId,
        slug: busy.slug,
        name: expect.any(String),
        waiting: 3,
        oldestWaitingSeconds: expect.any(Number),
        endpoints: { total: 2, disabled: 1, failing: 1 }
      })
      expect(of(some)).toMatchObject({ waiting: 1, endpoints: { total: 1, disabled: 0, failing: 0 } })
      expect(of(quiet)).toMatchObject({ waiting: 0, oldestWaitingSeconds: null, endpoints: { total: 0 } })
      const order = whole.items.map(({ id, waiting }): [number, string] => [-Number(waiting), id])
      expect(order).toEqual(order.toSorted(([a, x], [b, y]) => a - b || (x < y ? -1 : 1)))
      expect(pages).toBe(Math.ceil(whole.items.length / 2))
      expect(items.map(({ id }) => id)).toEqual(whole.items.map(({ id }) => id))
    })
  )

  it.effect("§5.2 is for the operator alone", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const { call } = yield* TestServer
      expect((yield* call("GET", "/fleet", { token: ws.token })).status).toBe(403)
    })
  )
})
