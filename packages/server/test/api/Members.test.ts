import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { makeEndpoint, walk } from "../Fixtures.ts"
import { type Entered, entered, testServer } from "../TestServer.ts"

const ada = { email: "Ada@Example.com", name: "Ada", role: "viewer" }

const add = (ws: Entered, body: object = ada) => ws.call("POST", "/members", { body })
const actions = (ws: Entered) =>
  Effect.map(ws.call("GET", "/audit-events"), ({ body }) =>
    body.items.map(({ action }) => String(action)).filter((action) => action.startsWith("member."))
  )

layer(testServer(), { excludeTestServices: true })("members", (it) => {
  it.effect("§4.2 adds, lists forward on id, updates and removes members, without timestamps", () =>
    Effect.gen(function* () {
      const ws = yield* entered

      const added = yield* add(ws)
      const second = yield* add(ws, { ...ada, email: "bob@example.com" })
      const { items } = yield* walk(ws.call, "/members", 1)
      const updated = yield* ws.call("PATCH", `/members/${added.body.id}`, { body: { role: "admin" } })
      const removed = yield* ws.call("DELETE", `/members/${added.body.id}`)
      const again = yield* ws.call("DELETE", `/members/${added.body.id}`)

      expect(added.status).toBe(201)
      expect(added.body).toEqual({ id: expect.stringMatching(/^mem_[0-9a-f]{29}$/), ...ada })
      expect(items).toEqual([added.body, second.body])
      expect(updated).toMatchObject({ status: 200, body: { ...added.body, role: "admin" } })
      expect([removed.status, removed.text]).toEqual([204, ""])
      expect(again).toMatchObject({ status: 404, body: { _tag: "MemberNotFound" } })
      expect((yield* ws.call("GET", "/members")).body.items).toEqual([second.body])
    })
  )

  it.effect("§4.2 accepts an address once per workspace, ignoring case", () =>
    Effect.gen(function* () {
      const [ws, other] = [yield* entered, yield* entered]
      yield* add(ws)
      const bob = yield* add(ws, { ...ada, email: "bob@example.com" })

      const same = yield* add(ws, { ...ada, email: "ada@EXAMPLE.com" })
      const changed = yield* ws.call("PATCH", `/members/${bob.body.id}`, {
        body: { email: "ADA@example.com" }
      })
      const accented = [
        yield* add(ws, { ...ada, email: "É@example.com" }),
        yield* add(ws, { ...ada, email: "é@example.com" })
      ]
      const elsewhere = yield* add(other)
      const itself = yield* ws.call("PATCH", `/members/${bob.body.id}`, {
        body: { email: "BOB@example.com" }
      })

      for (const refused of [same, changed, accented[1]]) {
        expect(refused).toMatchObject({ status: 409, body: { _tag: "MemberEmailTaken" } })
      }
      expect([accented[0]!.status, elsewhere.status, itself.status]).toEqual([201, 201, 200])
      expect(itself.body.email).toBe("BOB@example.com")
    })
  )

  it.effect("§4.2 lets one of two concurrent additions of an address win", () =>
    Effect.gen(function* () {
      const ws = yield* entered

      const answers = yield* Effect.all(
        Array.from({ length: 8 }, () => add(ws)),
        { concurrency: "unbounded" }
      )

      expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
    })
  )

  it.effect("§4.2 refuses an invalid address, name or role", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const bad = [
        [
          "email",
          ["", "ada", "@example.com", "a@", "a b@example.com", `${"a".repeat(65)}@b.c`, "a@b\u0000.c"]
        ],
        ["name", ["", "x".repeat(201), "nul\u0000", "\ud800"]],
        ["role", ["owner", "", null]]
      ] as const

      for (const [member, values] of bad)
        for (const value of values) {
          const answer = yield* add(ws, { ...ada, [member]: value })
          expect(answer, `${member}: ${value}`).toMatchObject({
            status: 400,
            body: { issues: [{ path: `/${member}` }] }
          })
        }
      expect((yield* add(ws, { ...ada, token: "x" })).status).toBe(400)
      expect((yield* ws.call("GET", "/members")).body.items).toEqual([])
    })
  )

  it.effect("§6 notifies endpoints and writes the audit log, and neither when nothing changes", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      yield* makeEndpoint(ws, { eventTypes: ["member.*"] })
      const { body } = yield* add(ws)
      const path = `/members/${body.id}`

      yield* ws.call("PATCH", path, { body: {} })
      yield* ws.call("PATCH", path, { body: { name: "Ada", role: "viewer" } })
      yield* ws.call("PATCH", path, { body: { name: "Ada L." } })
      yield* ws.call("DELETE", path)

      const { items } = (yield* ws.call("GET", "/webhooks/deliveries")).body
      expect(items.map(({ eventType, payload }) => [eventType, payload])).toEqual([
        ["member.removed", { memberId: body.id, ...ada, name: "Ada L." }],
        ["member.added", { memberId: body.id, ...ada }]
      ])
      expect(yield* actions(ws)).toEqual(["member.removed", "member.updated", "member.added"])
    })
  )

  it.effect("§5.2 a role is given, changed and removed only by a caller with all its permissions", () =>
    Effect.gen(function* () {
      const ws = yield* entered
      const developer = [
        "member:manage",
        "read",
        "event:publish",
        "webhook:list",
        "webhook:create",
        "webhook:update",
        "webhook:delete",
        "webhook:rotate_secret",
        "webhook:replay",
        "webhook:test"
      ]
      const tokens = {
        manager: yield* ws.tokenWith("member:manage"),
        viewer: yield* ws.tokenWith("member:manage", "read", "webhook:list"),
        developer: yield* ws.tokenWith(...developer)
      }
      const admin = (yield* add(ws, { ...ada, role: "admin" })).body.id
      const viewer = (yield* add(ws, { ...ada, email: "v@example.com" })).body.id
      const send = (by: keyof typeof tokens, method: string, path: string, body?: object) =>
        Effect.map(ws.call(method, path, { token: tokens[by], body }), ({ body, status }) =>
          status === 403 ? body.permission : status
        )
      const invite = (by: keyof typeof tokens, role: string) =>
        send(by, "POST", "/members", { email: `${by}-${role}@example.com`, name: "N", role })

      expect(yield* invite("manager", "viewer")).toBe("webhook:read")
      expect(yield* invite("viewer", "viewer")).toBe(201)
      expect(yield* invite("viewer", "developer")).toBe("webhook:create")
      expect(yield* invite("developer", "developer")).toBe(201)
      expect(yield* invite("developer", "admin")).toBe("token:list")
      expect(yield* send("developer", "PATCH", `/members/${viewer}`, { role: "admin" })).toBe("token:list")
      expect(yield* send("developer", "PATCH", `/members/${admin}`, { role: "viewer" })).toBe("token:list")
      expect(yield* send("developer", "DELETE", `/members/${admin}`)).toBe("token:list")
      expect(yield* send("developer", "PATCH", `/members/${admin}`, { name: "Ada L.", role: "admin" })).toBe(
        200
      )
      expect(yield* send("developer", "PATCH", `/members/${viewer}`, { role: "developer" })).toBe(200)
      expect(yield* send("viewer", "DELETE", `/members/${viewer}`)).toBe("webhook:create")
      expect(yield* send("developer", "DELETE", `/members/${viewer}`)).toBe(204)
      const left = (yield* ws.call("GET", "/members")).body.items.map(({ id, role }) => [id, role])
      expect(left[0]).toEqual([admin, "admin"])
      expect(left).toHaveLength(3)
    })
  )
})
