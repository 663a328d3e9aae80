/**
 * Executes an operation once under its caller's idempotency key: it makes the change and stores its answer in one transaction,
 * or returns the stored answer, with `Idempotent-Replayed: true`.
 *
 * Calls are the same if their operation, path, and body without insignificant white space are the same. REST and MCP calls have
 * the same fingerprint. Source: spec §4.3.
 */
import { createHash } from "node:crypto"
import type { HttpServerRequest } from "@effect/platform"
import { IdempotentCalls, type KeyedCall } from "@posthorn/capabilities/IdempotentCalls"
import { compact, JsonText, parseJson, stringify, UNBOUNDED } from "@posthorn/domain/JsonText"
import { CurrentOperator, CurrentPrincipal, type Operator, type Principal } from "@posthorn/domain/Principal"
import { Effect, Either, Option } from "effect"
import { ServerConfig } from "../ServerConfig.ts"
import {
  type Answer,
  answerOf,
  isSecret,
  type OperationName,
  operationNamed,
  type SuccessOf,
  toResponse
} from "./Responses.ts"

interface Request {
  readonly path?: Readonly<Record<string, string>>
  readonly headers: { readonly "idempotency-key"?: string | undefined }
  readonly payload?: unknown
  readonly request: HttpServerRequest.HttpServerRequest
}

/** Work that continues after the change is committed. A repeated call gets its final answer. */
export interface Afterwards<A, R> {
  readonly seconds: number
  readonly run: (made: A) => Effect.Effect<A, never, R>
}

/** The body's members, each as its exact text without white space. Payloads are not parsed. */
const compacted = (json: string, raw: ReadonlyArray<ReadonlyArray<string>>): string => {
  const parsed = Either.getOrThrow(parseJson(json, raw, UNBOUNDED)) as object
  const cut = parseJson(
    json,
    Object.keys(parsed).map((name) => [name]),
    UNBOUNDED
  )
  const texts = Object.entries(Either.getOrThrow(cut) as Readonly<Record<string, JsonText>>)
  return stringify(Object.fromEntries(texts.map(([name, { text }]) => [name, new JsonText(compact(text))])))
}

const sorted = (record: Readonly<Record<string, string>>) =>
  Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1))

const digestOf = (
  name: OperationName,
  { slug: _, ...path }: Readonly<Record<string, string>>,
  body: string
) =>
  createHash("sha256")
    .update(JSON.stringify([name, sorted(path)]))
    .update(body.trim() === "" ? "{}" : compacted(body, operationNamed(name).rules.raw ?? []))
    .digest()

export class IdempotentExecution extends Effect.Service<IdempotentExecution>()(
  "@posthorn/server/IdempotentExecution",
  {
    dependencies: [IdempotentCalls.Default],
    effect: Effect.gen(function* () {
      const calls = yield* IdempotentCalls
      const { baseUrl } = yield* ServerConfig

      const idempotentFor =
        <I>(caller: Effect.Effect<Operator | Principal, never, I>) =>
        <Name extends OperationName, A extends SuccessOf<Name>, E, R, R2 = never>(
          name: Name,
          { headers, path = {}, payload, request }: Request,
          change: Effect.Effect<A, E, R>,
          after?: Afterwards<A, R2>
        ) => {
          const entry = operationNamed(name)
          const { bodySchema, rules } = entry

          const located = (value: A): Answer => {
            const answer = answerOf(name, value)
            const location = rules.location?.(path, value as { readonly id?: string }) ?? null
            return location === null
              ? answer
              : { ...answer, headers: { ...answer.headers, location: `${baseUrl}${location}` } }
          }
          const goOn = (value: A): Effect.Effect<A, never, R2> =>
            after === undefined || after.seconds === 0 ? Effect.succeed(value) : after.run(value)

          const key =
            rules.changesNothing?.(payload as never) === true ? undefined : headers["idempotency-key"]
          if (key === undefined)
            return Effect.map(Effect.flatMap(change, goOn), (value) => toResponse(located(value)))

          const made = Effect.map(change, (value) => {
            const given = located(value)
            const again =
              rules.repeated === undefined ? given.body : stringify(rules.repeated(value as never))
            return { value, given, again, isSecret: isSecret(entry, value) }
          })
          return Effect.gen(function* () {
            const principal = yield* caller
            const body = Option.isNone(bodySchema) ? "" : yield* Effect.orDie(request.text)
            const call: KeyedCall = {
              workspaceId: "workspaceId" in principal ? principal.workspaceId : null,
              caller: principal.callerKey,
              key,
              digest: digestOf(name, path, body),
              afterSeconds: after?.seconds ?? 0
            }
            const outcome = yield* calls.once(call, made)
            if (outcome.kind === "repeated") {
              const { given } = outcome
              return toResponse({ ...given, headers: { ...given.headers, "idempotent-replayed": "true" } })
            }
            if (call.afterSeconds === 0) return toResponse(outcome.given)
            const end = located(yield* goOn(outcome.value))
            yield* calls.settle(call, end.body)
            return toResponse(end)
          })
        }

      return {
        idempotent: idempotentFor(CurrentPrincipal),
        idempotentForOperator: idempotentFor(CurrentOperator)
      } as const
    })
  }
) {}
