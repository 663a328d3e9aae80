/**
 * Every operation of the contract, with every kind of wrong or insufficient credential and every single permission: the
 * exact status and tag. New operations of the contract are included automatically.
 *
 * A call that the gate admits is recognised by the next check: a body with an unknown member is refused (400), an unknown id
 * is not found (404), and other calls succeed.
 */

import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { issue } from "@posthorn/capabilities/TokenText"
import { newId } from "@posthorn/domain/Ids"
import { type Permission, permissions, permissionsOf } from "@posthorn/domain/Permission"
import { Effect, Option, Redacted } from "effect"
import { type Entered, entered, OPERATOR_TOKEN, TestServer, testServer } from "../TestServer.ts"

interface Credential {
  readonly name: string
  readonly headers: Readonly<Record<string, string>>
  readonly query?: string
  /** Its permissions; undefined when the credential is invalid. */
  readonly granted?: ReadonlySet<string>
  readonly elsewhere?: boolean
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** Invalid credentials. */
const unacceptable = (ws: Entered, revoked: string, expired: string): ReadonlyArray<Credential> => {
  const { token } = ws
  const otherSecret = issue(`tok_${token.split("_")[1]}`)
  return [
    { name: "no header", headers: {} },
    { name: "an empty header", headers: { authorization: "" } },
    { name: "a scheme alone", headers: { authorization: "Bearer" } },
    { name: "no scheme", headers: { authorization: token } },
    { name: "another scheme", headers: { authorization: `Basic ${btoa(`x:${token}`)}` } },
    { name: "another scheme with the token", headers: { authorization: `Token ${token}` } },
    { name: "two tokens", headers: { authorization: `Bearer ${token}, Bearer ${token}` } },
    { name: "no token's form", headers: bearer("secret") },
    { name: "a typing error", headers: bearer(`${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}`) },
    { name: "an unknown token", headers: bearer(Redacted.value(issue(newId("token")).text)) },
    { name: "another secret of a known token", headers: bearer(Redacted.value(otherSecret.text)) },
    { name: "a revoked token", headers: bearer(revoked) },
    { name: "an expired token", headers: bearer(expired) },
    { name: "the token in the query", headers: {}, query: `access_token=${token}&token=${token}` },
    { name: "the token in a cookie", headers: { cookie: `session=${token}; authorization=Bearer ${token}` } }
  ]
}

/** Every permission except this one and those that include it. */
const allBut = (permission: Permission) =>
  permissions.filter((each) => !permissionsOf([each]).has(permission))

const scopesToTry = (entry: ContractEntry): ReadonlyArray<ReadonlyArray<string>> => [
  ...permissions.map((permission) => [permission]),
  ["read"],
  ["admin"],
  ...(entry.rules.permission === "operator" || entry.rules.permission === "any"
    ? []
    : [allBut(entry.rules.permission)])
]

const send = (entry: ContractEntry, slug: string, { headers, query = "" }: Credential) =>
  Effect.flatMap(TestServer, ({ call }) => {
    const path = entry.path.replace(":slug", slug).replace(/:\w+/g, "unknown")
    return call(entry.method, `${path}?${query}`, {
      headers,
      ...(Option.isSome(entry.bodySchema) ? { body: { "no such member": true } } : {})
    })
  })

/** The answer to an admitted call. */
const admitted = (entry: ContractEntry) => {
  if (Option.isSome(entry.bodySchema)) return { status: 400, _tag: "InvalidRequest" }
  const parameters = [...entry.path.matchAll(/:(\w+)/g)]
    .map(([, name]) => name)
    .filter((name) => name !== "slug")
  if (parameters.length > 0)
    return { status: 404, _tag: expect.stringMatching(/^(?!Workspace|Route).*NotFound$/) }
  return { status: entry.successStatus, _tag: undefined }
}

const expected = (entry: ContractEntry, { elsewhere, granted }: Credential) => {
  const { permission } = entry.rules
  if (granted === undefined) return { status: 401, _tag: "Unauthorized" }
  if (elsewhere === true && entry.inWorkspace) return { status: 404, _tag: "WorkspaceNotFound" }
  if (permission !== "any" && !granted.has(permission)) return { status: 403, _tag: "Forbidden", permission }
  return admitted(entry)
}

layer(testServer(), { excludeTestServices: true })("the gate", (it) => {
  const prepare = Effect.gen(function* () {
    const sql = yield* SqlClient
    const [ws, elsewhere] = [yield* entered, yield* entered]
    const [revoked, expired] = [yield* ws.tokenWith("admin"), yield* ws.tokenWith("admin")]
    const idOf = (token: string) => `tok_${token.split("_")[1]}`
    yield* sql`update posthorn.api_tokens set revoked_at = now() where id = ${idOf(revoked)}`
    yield* sql`update posthorn.api_tokens set expires_at = now() - interval '1 second' where id = ${idOf(expired)}`
    return { ws, elsewhere, wrong: unacceptable(ws, revoked, expired) }
  }).pipe(Effect.orDie)

  it.effect(
    "§5 every operation refuses or admits every kind of credential, with the exact status and tag",
    () =>
      Effect.gen(function* () {
        const { elsewhere, wrong, ws } = yield* prepare
        const tokens = new Map<string, string>()
        const tokenFor = (scopes: ReadonlyArray<string>) =>
          Effect.gen(function* () {
            const key = scopes.join(" ")
            if (!tokens.has(key)) tokens.set(key, yield* ws.tokenWith(...scopes))
            return {
              name: key,
              headers: bearer(tokens.get(key)!),
              granted: permissionsOf(scopes) as ReadonlySet<string>
            }
          })

        const failures: Array<unknown> = []
        for (const entry of entries) {
          const scoped = yield* Effect.forEach(scopesToTry(entry), tokenFor)
          const removes = entry.name === "deleteWorkspace"
          const slug = removes ? (yield* entered).slug : ws.slug
          const operator = {
            name: "operator",
            headers: bearer(OPERATOR_TOKEN),
            granted: new Set([...permissions, "operator"])
          }
          const other = {
            name: "another workspace's",
            headers: bearer(elsewhere.token),
            granted: permissionsOf(["admin"]) as ReadonlySet<string>,
            elsewhere: true
          }
          const inPlace = removes ? scoped.map((each) => ({ ...each, elsewhere: true })) : scoped
          for (const credential of [...wrong, ...inPlace, other, operator] as ReadonlyArray<Credential>) {
            const answer = yield* send(entry, slug, credential)
            const should = expected(entry, credential)
            const got = { status: answer.status, ...answer.body }
            const matches = yield* Effect.sync(() => {
              try {
                expect(got).toMatchObject(should._tag === undefined ? { status: should.status } : should)
                if (should.status === 401) expect(answer.headers.get("www-authenticate")).toBe("Bearer")
                expect(answer.headers.get("x-trace-id")).toMatch(/^[0-9a-f]{32}$/)
                return true
              } catch {
                return false
              }
            })
            if (!matches) failures.push({ operation: entry.name, credential: credential.name, should, got })
          }
        }

        expect(failures).toEqual([])
        expect(entries.length).toBeGreaterThan(20)
      }),
    120_000
  )

  it.effect("§5 the order at the gate is 401, 404, 403, 400", () =>
    Effect.gen(function* () {
      const { call, enter } = yield* TestServer
      const ws = yield* enter
      const weak = yield* ws.tokenWith("workspace:read")
      const broken = { text: "{", headers: { "content-type": "text/plain" } }

      const nobody = yield* call("POST", "/workspaces/nowhere/webhooks", broken)
      const nowhere = yield* call("POST", "/workspaces/nowhere/webhooks", { ...broken, token: weak })
      const forbidden = yield* call("POST", `/workspaces/${ws.slug}/webhooks`, { ...broken, token: weak })
      const decoded = yield* call("POST", `/workspaces/${ws.slug}/webhooks`, { ...broken, token: ws.token })

      expect([nobody, nowhere, forbidden, decoded].map(({ body }) => body._tag)).toEqual([
        "Unauthorized",
        "WorkspaceNotFound",
        "Forbidden",
        "UnsupportedMediaType"
      ])
    })
  )
})
