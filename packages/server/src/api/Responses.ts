/**
 * Answers that are more than a value for the library to encode: JSON text that is ready, an `ETag`, a secret that no cache
 * may keep.
 *
 * The contract's annotations say which of these an operation's answer has. Values are written without encoding: `respond` accepts
 * only the type of this operation's answer, so another does not compile, and tests decode each answer by its schema. Payloads
 * keep their text.
 */
import { type HttpApi, type HttpApiEndpoint, type HttpApiGroup, HttpServerResponse } from "@effect/platform"
import type { Api } from "@posthorn/api-contract/Api"
import { type ContractEntry, entries } from "@posthorn/api-contract/Contract"
import { stringify } from "@posthorn/domain/JsonText"
import { entityTagOf } from "./EntityTag.ts"

type Endpoints =
  typeof Api extends HttpApi.HttpApi<infer _Id, infer Groups, infer _E, infer _R>
    ? HttpApiGroup.HttpApiGroup.Endpoints<Groups>
    : never

export type OperationName = HttpApiEndpoint.HttpApiEndpoint.Name<Endpoints>

export type SuccessOf<Name extends OperationName> =
  HttpApiEndpoint.HttpApiEndpoint.WithName<Endpoints, Name> extends HttpApiEndpoint.HttpApiEndpoint<
    infer _Name,
    infer _Method,
    infer _Path,
    infer _Query,
    infer _Body,
    infer _Headers,
    infer Success,
    infer _Error,
    infer _R,
    infer _RE
  >
    ? Success
    : never

const operations = new Map<string, ContractEntry>(entries.map((entry) => [entry.name, entry]))

export const operationNamed = (name: OperationName): ContractEntry => operations.get(name)!

/** An answer as it is sent, and as it is kept under an idempotency key. */
export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export const isSecret = ({ rules: { secret } }: ContractEntry, value: unknown): boolean =>
  secret !== undefined && typeof value === "object" && value !== null && secret in value

const headersOf = (entry: ContractEntry, value: object) => ({
  ...(isSecret(entry, value) ? { "cache-control": "no-store" } : {}),
  ...(entry.rules.tagged === true ? { etag: entityTagOf(value as never) } : {})
})

export const answerOf = <Name extends OperationName>(name: Name, value: SuccessOf<Name>): Answer => {
  const entry = operationNamed(name)
  const isObject = typeof value === "object" && value !== null
  return {
    status: isObject ? (entry.rules.statusOf?.(value) ?? entry.successStatus) : entry.successStatus,
    headers: isObject ? headersOf(entry, value) : {},
    body: isObject ? stringify(value) : ""
  }
}

export const toResponse = ({ body, headers, status }: Answer) =>
  HttpServerResponse.raw(body, {
    status,
    headers,
    contentType: "application/json",
    contentLength: Buffer.byteLength(body)
  })

export const respond =
  <Name extends OperationName>(name: Name) =>
  (value: SuccessOf<Name>) =>
    toResponse(answerOf(name, value))
