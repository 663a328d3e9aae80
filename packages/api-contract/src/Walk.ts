/**
 * Walks the contract: every operation as plain data, for whoever derives something from all of them.
 *
 * Walking forgets the types of requests and answers; `Bindings` has checked them where the operations are implemented.
 */
import type { HttpApi, HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { HttpApiSchema } from "@effect/platform"
import { type Effect, type Option, Schema, SchemaAST } from "effect"
import { Api } from "./Api.ts"
import { type OperationRules, rulesOf } from "./Operation.ts"
import type { Filled } from "./Wire.ts"

export interface ContractEntry {
  readonly name: string
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** With `:name` for each parameter. */
  readonly path: string
  readonly inWorkspace: boolean
  readonly rules: OperationRules
  readonly pathSchema: Option.Option<Schema.Schema.Any>
  readonly querySchema: Option.Option<Schema.Schema.Any>
  readonly headersSchema: Option.Option<Schema.Schema.Any>
  readonly bodySchema: Option.Option<Schema.Schema.Any>
  readonly successSchema: Schema.Schema.Any
  readonly successStatus: number
  readonly endpoint: HttpApiEndpoint.HttpApiEndpoint.AnyWithProps
}

/** Of several answers the one that is declared first: the usual one. */
const firstOf = (success: Schema.Schema.Any): Schema.Schema.Any =>
  SchemaAST.isUnion(success.ast) ? Schema.make(success.ast.types[0]) : success

const entryOf = (endpoint: HttpApiEndpoint.HttpApiEndpoint.AnyWithProps): ContractEntry => ({
  name: endpoint.name,
  method: endpoint.method as ContractEntry["method"],
  path: endpoint.path,
  inWorkspace: endpoint.path === "/workspaces/:slug" || endpoint.path.startsWith("/workspaces/:slug/"),
  rules: rulesOf(endpoint),
  pathSchema: endpoint.pathSchema,
  querySchema: endpoint.urlParamsSchema,
  headersSchema: endpoint.headersSchema,
  bodySchema: endpoint.payloadSchema,
  successSchema: endpoint.successSchema,
  successStatus: HttpApiSchema.getStatusSuccess(firstOf(endpoint.successSchema)),
  endpoint
})

/** Every operation, in the order of the contract. */
export const entries: ReadonlyArray<ContractEntry> = Object.values(
  Api.groups as unknown as Record<string, HttpApiGroup.HttpApiGroup.AnyWithProps>
).flatMap((group) =>
  Object.values(group.endpoints as Record<string, HttpApiEndpoint.HttpApiEndpoint.AnyWithProps>).map(entryOf)
)

type Endpoints<Api> =
  Api extends HttpApi.HttpApi<infer _Id, infer Groups, infer _E, infer _R>
    ? HttpApiGroup.HttpApiGroup.Endpoints<Groups>
    : never

type ApiErrors<Api> = Api extends HttpApi.HttpApi<infer _Id, infer _Groups, infer E, infer _R> ? E : never

type Bound<Endpoint, ApiError, R> =
  Endpoint extends HttpApiEndpoint.HttpApiEndpoint<
    infer _Name,
    infer _Method,
    infer Path,
    infer Query,
    infer Body,
    infer Headers,
    infer Success,
    infer Failure,
    infer _R,
    infer _RE
  >
    ? (request: {
        readonly path: Path
        readonly query: Filled<Query>
        readonly headers: Headers
        readonly body: Filled<Body>
      }) => Effect.Effect<Success, Failure | ApiError, R>
    : never

/**
 * For each operation of an api a function from the decoded request to the answer. A missing operation, an undeclared
 * error or an answer of another shape does not compile.
 */
export type Bindings<Api, R> = {
  readonly [E in Endpoints<Api> as HttpApiEndpoint.HttpApiEndpoint.Name<E>]: Bound<E, ApiErrors<Api>, R>
}
