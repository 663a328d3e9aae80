/**
 * The gate in front of every operation, as the contract declares it, in a fixed order:
 *
 *   who are you (401) → which workspace (404) → not too often (429) → may you (403)
 *
 * It runs before anything of the request is decoded (400). Permission and bucket are annotations of the matched operation. A
 * token opens one workspace; to it, any other slug looks exactly like one that does not exist.
 * Source: spec §5 and §5.1.
 */
import { HttpApp, HttpRouter, HttpServerRequest } from "@effect/platform"
import { type ContractEntry, entries, membersOf } from "@posthorn/api-contract/Contract"
import { CallerGate, OperatorGate, WorkspaceGate } from "@posthorn/api-contract/Gates"
import { Workspaces } from "@posthorn/capabilities/Workspaces"
import type { Bucket } from "@posthorn/domain/Bucket"
import { Forbidden, InvalidRequest, type RateLimited, WorkspaceNotFound } from "@posthorn/domain/Errors"
import type { Operator, Principal } from "@posthorn/domain/Principal"
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Context, Effect, Layer, Option } from "effect"
import { ANSWER_MS } from "../calls/Deadline.ts"
import { MAX_ISSUES, pointer, UNKNOWN } from "../calls/DecodeMessages.ts"
import { DatabaseTrouble } from "../calls/Failures.ts"
import { answered } from "../calls/RequestMeters.ts"
import {
  actorOf,
  type Caller,
  countedAs,
  endpointIdsOf,
  keyOf,
  lineageOf,
  openTo,
  permissionsOf,
  workspaceIdOf
} from "./AuthenticatedCaller.ts"
import { type Call, CurrentCall } from "./CurrentCall.ts"
import { RateLimits } from "./RateLimits.ts"

const operations = new Map(entries.map((entry) => [`${entry.method} ${entry.path}`, entry]))

export const operationOf = ({ method, path, prefix }: HttpRouter.Route<unknown, unknown>): ContractEntry =>
  operations.get(`${method} ${Option.isSome(prefix) ? path.slice(prefix.value.length) : path}`)!

const isForbidden = ({ gate, rules: { permission } }: ContractEntry, caller: Caller) =>
  gate === OperatorGate || permission === "operator"
    ? caller.kind !== "operator"
    : permission !== "any" && !permissionsOf(caller).has(permission)

/**
 * An operation without query parameters refuses any. One with query parameters validates them itself, unless there are too
 * many.
 */
const unknownQuery = ({ querySchema }: ContractEntry, query: object) => {
  const names = Object.keys(query)
  // The library ignores a member of this name.
  const isJudged =
    names.length <= (Option.isNone(querySchema) ? 0 : MAX_ISSUES) && !names.includes("__proto__")
  if (isJudged) return undefined
  const known = membersOf(querySchema)
  const unknown = names.filter((name) => !known.includes(name)).slice(0, MAX_ISSUES)
  return new InvalidRequest({ issues: unknown.map((name) => ({ path: pointer(name), message: UNKNOWN })) })
}

interface Where {
  readonly id: Principal["workspaceId"]
  readonly slug: string
  /** The workspace's own limit. */
  readonly publishPerMinute: number | null
}

const homeOf = (caller: Exclude<Caller, { readonly kind: "operator" }>): Where => {
  const { publishPerMinute, workspaceId, workspaceSlug } = openTo(caller)
  return { id: workspaceId, slug: workspaceSlug, publishPerMinute }
}

const operatorOf = ({ traceId, via }: Call, caller: Caller): Operator => ({
  actor: { ...actorOf(caller), via },
  callerKey: keyOf(caller),
  traceId
})

const principalOf = ({ connection, traceId, via }: Call, caller: Caller, { id, slug }: Where): Principal => ({
  actor: { ...actorOf(caller), via },
  lineage: lineageOf(caller),
  callerKey: keyOf(caller),
  traceId,
  connection,
  workspaceId: id,
  workspaceSlug: slug,
  endpointIds: endpointIdsOf(caller),
  permissions: permissionsOf(caller),
  expiresAt: caller.kind === "operator" ? null : openTo(caller).expiresAt
})

export class Gate extends Effect.Service<Gate>()("@posthorn/server/Gate", {
  dependencies: [DatabaseTrouble.Default, RateLimits.Default, Workspaces.Default],
  effect: Effect.gen(function* () {
    const limits = yield* RateLimits
    const trouble = yield* DatabaseTrouble
    const workspaces = yield* Workspaces
    const clock = yield* Effect.clock

    /** The workspace of the call. A token has its own, which the slug can only repeat. */
    const workspaceOf = (
      caller: Caller,
      slug: string | undefined
    ): Effect.Effect<Where, WorkspaceNotFound> => {
      if (caller.kind === "operator")
        return Effect.flatMap(
          slug === undefined ? Effect.succeed(undefined) : workspaces.findBySlug(slug),
          (found) =>
            found === undefined
              ? Effect.fail(new WorkspaceNotFound())
              : Effect.succeed({ ...found, publishPerMinute: found.limits.publishPerMinute })
        )
      const home = homeOf(caller)
      return slug === undefined || slug === home.slug
        ? Effect.succeed(home)
        : Effect.fail(new WorkspaceNotFound())
    }

    /** Counts the operation when it is answered. */
    const observe = (entry: ContractEntry, { began, via }: Call) =>
      HttpApp.appendPreResponseHandler((_, response) => {
        answered(entry, via, response.status, elapsed(clock) - began)
        return response.status < 400 ? trouble.passing(response) : Effect.succeed(response)
      })

    /** What the workspace itself may publish, whoever does it, by tools too. */
    const withinOwnLimit =
      (bucket: Bucket, where: Where | undefined) =>
      <A, E>(allowed: Effect.Effect<A, E>): Effect.Effect<A, E | RateLimited> =>
        bucket !== "event_publish" || where === undefined || where.publishPerMinute === null
          ? allowed
          : Effect.zipLeft(allowed, limits.takeOwn(bucket, where.id, where.publishPerMinute))

    /** Lets a call pass, and returns the result of `admit`. `locate` finds the workspace. */
    const pass = <W extends Where | undefined, E, A>(
      locate: (caller: Caller, slug: string | undefined) => Effect.Effect<W, E>,
      admit: (call: Call, caller: Caller, where: W) => A
    ) =>
      Effect.contextWithEffect(
        (context: Context.Context<HttpRouter.RouteContext | HttpServerRequest.ParsedSearchParams>) => {
          const { params, route } = Context.get(context, HttpRouter.RouteContext)
          const entry = operationOf(route)
          const { bucket, waitsMs = 0 } = entry.rules
          const call = Context.get(context, CurrentCall)
          const fault =
            call.fault ?? unknownQuery(entry, Context.get(context, HttpServerRequest.ParsedSearchParams))
          call.deadline?.start(ANSWER_MS + waitsMs)

          const allow = (caller: Caller, where: W): Effect.Effect<A, Forbidden | InvalidRequest> =>
            isForbidden(entry, caller)
              ? Effect.fail(new Forbidden({ permission: entry.rules.permission }))
              : fault === undefined
                ? Effect.succeed(admit(call, caller, where))
                : Effect.fail(fault)

          const admitting = Effect.flatMap(call.authenticate(params.slug), (caller) => {
            call.holder.key = countedAs(caller)
            return Effect.flatMap(locate(caller, params.slug), (where) =>
              (call.isTool
                ? Effect.void
                : limits.take(bucket, countedAs(caller), workspaceIdOf(caller))
              ).pipe(
                Effect.zipRight(Effect.suspend(() => allow(caller, where))),
                withinOwnLimit(bucket, where)
              )
            )
          })
          return call.isTool ? admitting : Effect.zipRight(observe(entry, call), admitting)
        }
      )

    /** Any valid caller: a token in its own workspace, or the operator in none. */
    const caller = pass(
      (caller) => Effect.succeed(caller.kind === "operator" ? undefined : homeOf(caller)),
      (call, caller, where) =>
        where === undefined ? operatorOf(call, caller) : principalOf(call, caller, where)
    )
    const operator = pass(() => Effect.succeed(undefined), operatorOf)
    const principal = pass(workspaceOf, principalOf)

    return { caller, operator, principal } as const
  })
}) {}

/** The contract's gates. They do not use the library's bearer decoding, which accepts other schemes too. */
export const gatesLive = Layer.mergeAll(
  Layer.effect(
    CallerGate,
    Effect.map(Gate, ({ caller }) => ({ bearer: () => caller }))
  ),
  Layer.effect(
    OperatorGate,
    Effect.map(Gate, ({ operator }) => ({ bearer: () => operator }))
  ),
  Layer.effect(
    WorkspaceGate,
    Effect.map(Gate, ({ principal }) => ({ bearer: () => principal }))
  )
).pipe(Layer.provide(Gate.Default))
