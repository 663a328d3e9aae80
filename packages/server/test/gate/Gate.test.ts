/**
 * The gate alone, on real tokens: which callers are known, which workspace they enter, what is counted, and what they may
 * do. Authorization.test.ts has the matrix over all operations.
 */

import { HttpRouter, HttpServerRequest } from "@effect/platform"
import { SqlClient } from "@effect/sql/SqlClient"
import { expect, layer } from "@effect/vitest"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { OperatorGate, WorkspaceGate } from "@posthorn/api-contract/Gates"
import type { ConsoleSession } from "@posthorn/capabilities/ConsoleSessions"
import * as Operators from "@posthorn/capabilities/Operators"
import { issue } from "@posthorn/capabilities/TokenText"
import { WHOLE_CONSOLE } from "@posthorn/domain/ConsoleView"
import { newId } from "@posthorn/domain/Ids"
import { permissions, permissionsOf as permissionsOfScopes } from "@posthorn/domain/Permission"
import { TestPg } from "@posthorn/testkit/TestPg"
import { Context, Effect, Either, Layer, Redacted } from "effect"
import { type Caller, keyOf, permissionsOf, workspaceIdOf } from "../../src/gate/AuthenticatedCaller.ts"
import { Authentication } from "../../src/gate/Authentication.ts"
import { CurrentCall } from "../../src/gate/CurrentCall.ts"
import { Gate } from "../../src/gate/Gate.ts"
import { memoryLive } from "../../src/gate/RateCounters.ts"
import { ServerConfig } from "../../src/ServerConfig.ts"
import { BASE_URL, OPERATOR_TOKEN } from "../TestServer.ts"

const FAILED_SIGN_INS = 3
const READS = 2
const ENDS = "2999-01-01T00:00:00.000Z"

const config = Layer.succeed(ServerConfig, {
  host: "127.0.0.1",
  port: 0,
  baseUrl: BASE_URL,
  operatorTokens: [],
  publicCatalogue: false,
  trustedProxies: [],
  drainSeconds: 0,
  quotas: {
    rest_write: null,
    assistant: null,
    filter_try: null,
    mcp: null,
    event_publish: null,
    rest_read: { limit: READS, windowSeconds: 3600 },
    auth_failure: { limit: FAILED_SIGN_INS, windowSeconds: 3600 }
  },
  version: "0.0.0-test"
})

/** A new counter each time. */
const gate = Effect.provide(
  Effect.all({ gate: Gate, authentication: Authentication }),
  Layer.merge(Gate.Default, Authentication.Default).pipe(
    Layer.provide(Operators.layer([{ name: null, token: Redacted.make(OPERATOR_TOKEN) }])),
    Layer.provide(memoryLive),
    Layer.provide(config)
  )
)

const makeToken = (...scopes: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [workspaceId, tokenId] = [newId("workspace"), newId("token")]
    const slug = workspaceId.slice(-20)
    const { secretHash, text } = issue(tokenId)
    yield* sql`insert into posthorn.workspaces (id, slug, name) values (${workspaceId}, ${slug}, 'W')`
    yield* sql`insert into posthorn.api_tokens (workspace_id, id, name, scopes, secret_hash, expires_at)
      values (${workspaceId}, ${tokenId}, 'T', ${scopes as Array<string>}, ${secretHash}, ${ENDS})`
    return { workspaceId, slug, tokenId, header: `Bearer ${Redacted.value(text)}` }
  }).pipe(Effect.orDie)

const operation = (name: string): ContractEntry => entries.find((entry) => entry.name === name)!
const OPERATOR: Caller = { kind: "operator", operator: { name: null, epoch: "" } }

const sessionIn = ({ slug, workspaceId }: { slug: string; workspaceId: string }): Caller => {
  const session: ConsoleSession = {
    id: "ses_1",
    workspaceId,
    workspaceSlug: slug,
    publishPerMinute: null,
    workspaceName: "W",
    actor: { type: "member", id: "mem_1", root: null, name: "Ada" },
    tokenId: null,
    operatorEpoch: null,
    permissions: permissionsOfScopes(["webhook:list"]),
    endsAt: ENDS,
    expiresAt: null,
    view: WHOLE_CONSOLE
  }
  return { kind: "session", session }
}

/** What the gate reads of a call that the router has matched. */
const arriving = (
  caller: Caller,
  { method, path }: ContractEntry,
  slug: string | undefined,
  isCounted: boolean
) =>
  Context.empty().pipe(
    Context.add(HttpRouter.RouteContext, {
      [HttpRouter.RouteContextTypeId]: HttpRouter.RouteContextTypeId,
      params: slug === undefined ? {} : { slug },
      route: HttpRouter.makeRoute(method, path as `/${string}`, Effect.never)
    }),
    Context.add(HttpServerRequest.ParsedSearchParams, {}),
    Context.add(CurrentCall, {
      via: "rest",
      connection: null,
      traceId: "a".repeat(32),
      began: 0,
      holder: { key: "" },
      authenticate: () => Effect.succeed(caller),
      deadline: null,
      isTool: !isCounted,
      fault: null
    })
  )

/** The tag of the refusal, or the provided caller. */
const outcome = <A, E extends { readonly _tag: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.either(effect), (either) => (Either.isLeft(either) ? either.left._tag : either.right))

layer(TestPg, { excludeTestServices: true })("the gate by itself", (it) => {
  const enter = (header: string | undefined, address = "192.0.2.1") =>
    Effect.flatMap(gate, ({ authentication }) => outcome(authentication.bearer(header, address)))

  it.effect("§5.1 accepts the operator's token and valid tokens, and nothing else", () =>
    Effect.gen(function* () {
      const { header, tokenId, workspaceId } = yield* makeToken("read")
      const sameLength = `Bearer ${"x".repeat(OPERATOR_TOKEN.length)}`

      const known = yield* enter(header)
      const refused = yield* Effect.forEach(
        [
          undefined,
          "",
          "Bearer",
          `Basic ${OPERATOR_TOKEN}`,
          sameLength,
          `Bearer ${OPERATOR_TOKEN}x`,
          `${header}0`,
          `Bearer ${Redacted.value(issue(newId("token")).text)}`
        ],
        (each) => enter(each)
      )

      expect(yield* enter(`Bearer ${OPERATOR_TOKEN}`)).toMatchObject({
        kind: "operator",
        operator: { name: null }
      })
      expect(yield* enter(`bearer   ${OPERATOR_TOKEN}`)).toMatchObject({
        kind: "operator",
        operator: { name: null }
      })
      expect(known).toMatchObject({ kind: "token", identity: { tokenId, workspaceId } })
      expect(refused).toEqual(refused.map(() => "Unauthorized"))
    })
  )

  it.effect("§8.1 counts failed sign-ins by address, and nothing else", () =>
    Effect.gen(function* () {
      const { header } = yield* makeToken("read")
      const { authentication } = yield* gate
      const come = (each: string, address: string) => outcome(authentication.bearer(each, address))

      const failed = yield* Effect.forEach(Array(FAILED_SIGN_INS + 1).fill("Bearer no"), (each) =>
        come(each, "192.0.2.1")
      )

      expect(failed).toEqual([...Array(FAILED_SIGN_INS).fill("Unauthorized"), "RateLimited"])
      expect(yield* come("Bearer no", "192.0.2.2")).toBe("Unauthorized")
      expect(yield* come(header, "192.0.2.1")).toMatchObject({ kind: "token" })
    })
  )

  it.effect("§5.1 says under which key each caller is counted, and its permissions", () =>
    Effect.gen(function* () {
      const made = yield* makeToken("webhook:list")
      const token = (yield* enter(made.header)) as Caller
      const callers = [OPERATOR, token, sessionIn(made)]

      expect(callers.map(keyOf)).toEqual(["operator", made.tokenId, "ses_1"])
      expect(keyOf({ kind: "operator", operator: { name: "ci", epoch: "" } })).toBe("operator:ci")
      expect(callers.map(workspaceIdOf)).toEqual([null, made.workspaceId, made.workspaceId])
      expect(callers.map((each) => [...permissionsOf(each)].toSorted())).toEqual([
        permissions.toSorted(),
        [...permissionsOfScopes(["webhook:list"])].toSorted(),
        [...permissionsOfScopes(["webhook:list"])].toSorted()
      ])
    })
  )

  const setting = Effect.gen(function* () {
    const [own, other] = [yield* makeToken("webhook:list"), yield* makeToken("admin")]
    const token = (yield* enter(own.header)) as Caller
    const { gate: gates } = yield* gate
    const come = (caller: Caller, entry: ContractEntry, slug?: string, isCounted = false) =>
      outcome<object, { readonly _tag: string }>(
        Effect.provide(
          entry.gate === OperatorGate
            ? gates.operator
            : entry.gate === WorkspaceGate
              ? gates.principal
              : gates.caller,
          arriving(caller, entry, slug, isCounted)
        )
      )
    return { own, other, token, session: sessionIn(own), come }
  })

  it.effect("§5.1 lets a token or a session into its own workspace, as itself, and into no other", () =>
    Effect.gen(function* () {
      const { come, other, own, session, token } = yield* setting
      const list = operation("listWebhookEndpoints")
      const principal = {
        workspaceId: own.workspaceId,
        workspaceSlug: own.slug,
        endpointIds: null,
        permissions: permissionsOfScopes(["webhook:list"]),
        traceId: "a".repeat(32)
      }

      for (const slug of [own.slug, undefined]) {
        expect(yield* come(token, list, slug)).toEqual({
          ...principal,
          connection: null,
          actor: { type: "api_token", id: own.tokenId, via: "rest", root: null, name: expect.any(String) },
          lineage: { tokenId: own.tokenId, sessionId: null, operatorEpoch: null },
          callerKey: own.tokenId,
          expiresAt: ENDS
        })
        expect(yield* come(session, list, slug)).toEqual({
          ...principal,
          connection: null,
          actor: { type: "member", id: "mem_1", via: "rest", root: null, name: "Ada" },
          lineage: { tokenId: null, sessionId: "ses_1", operatorEpoch: null },
          callerKey: "ses_1",
          expiresAt: null
        })
      }
      for (const caller of [token, session])
        for (const slug of [other.slug, "nowhere", ""])
          expect(yield* come(caller, list, slug)).toBe("WorkspaceNotFound")
    })
  )

  it.effect("§5.1 lets the operator into any workspace that exists, with every permission", () =>
    Effect.gen(function* () {
      const { come, other, own } = yield* setting
      const list = operation("listWebhookEndpoints")

      for (const { slug, workspaceId } of [own, other])
        expect(yield* come(OPERATOR, list, slug)).toEqual({
          connection: null,
          workspaceId,
          workspaceSlug: slug,
          endpointIds: null,
          actor: { type: "operator", id: "operator", via: "rest", root: null, name: null },
          lineage: { tokenId: null, sessionId: null, operatorEpoch: "" },
          callerKey: "operator",
          permissions: new Set(permissions),
          expiresAt: null,
          traceId: "a".repeat(32)
        })
      expect(yield* come(OPERATOR, list, "nowhere")).toBe("WorkspaceNotFound")
      expect(yield* come(OPERATOR, operation("deleteWorkspace"), own.slug)).toMatchObject({
        workspaceId: own.workspaceId
      })
    })
  )

  it.effect("§5.2 outside of workspaces the operator has no permissions, and others keep their own", () =>
    Effect.gen(function* () {
      const { come, other, own, session, token } = yield* setting
      const caller = operation("getCaller")
      const outside = {
        actor: { type: "operator", id: "operator", via: "rest", root: null, name: null },
        callerKey: "operator",
        traceId: "a".repeat(32)
      }

      expect(yield* come(OPERATOR, caller)).toEqual(outside)
      expect(yield* come(OPERATOR, caller, own.slug)).toEqual(outside)
      expect(yield* come(OPERATOR, operation("listWorkspaces"))).toEqual(outside)
      // A slug has no meaning where the path has none.
      for (const slug of [undefined, other.slug]) {
        expect(yield* come(token, caller, slug)).toMatchObject({ workspaceId: own.workspaceId })
        expect(yield* come(session, caller, slug)).toMatchObject({ workspaceId: own.workspaceId })
      }
    })
  )

  it.effect("§5 refuses a missing permission, and operator's operations to everybody else", () =>
    Effect.gen(function* () {
      const { come, own, session, token } = yield* setting

      for (const caller of [token, session]) {
        for (const entry of [
          operation("createWebhookEndpoint"),
          operation("deleteWorkspace"),
          operation("listWorkspaces")
        ])
          expect(yield* come(caller, entry, own.slug), entry.name).toBe("Forbidden")
      }
    })
  )

  it.effect("§8 counts a call that has a bucket, before it reports a missing permission", () =>
    Effect.gen(function* () {
      const { come, own, token } = yield* setting
      const list = operation("listWebhookEndpoints")
      const members = operation("listMembers")

      const uncounted = yield* Effect.forEach(Array(READS + 1).fill(list), (each) =>
        come(token, each, own.slug)
      )
      const counted = yield* Effect.forEach(Array(READS).fill(list), (each) =>
        come(token, each, own.slug, true)
      )

      expect([...uncounted, ...counted].every((each) => typeof each === "object")).toBe(true)
      expect(yield* come(token, list, own.slug, true)).toBe("RateLimited")
      expect(yield* come(token, members, own.slug, true)).toBe("RateLimited")
      expect(yield* come(token, members, "nowhere", true)).toBe("WorkspaceNotFound")
      expect(yield* come(OPERATOR, list, own.slug, true)).toMatchObject({
        workspaceId: own.workspaceId
      })
    })
  )
})
