/**
 * Walks the contract: every operation as plain data, for whoever derives something from all of them.
 *
 * Walking forgets the types of requests and answers; `Bindings` has checked them where the operations are implemented.
 */
import type { HttpApi, HttpApiEndpoint, HttpApiGroup, HttpApiMiddleware } from "@effect/platform"
import { HttpApiSchema } from "@effect/platform"
import type { JsonOf } from "@posthorn/domain/JsonText"
import { type Effect, type Option, Schema, SchemaAST } from "effect"
import { Api } from "./Api.ts"
import { type AnyGate, CallerGate, OperatorGate, WorkspaceGate } from "./Gates.ts"
import { type OperationRules, rulesOf } from "./Operation.ts"
import type { Filled } from "./Wire.ts"

type Endpoint = HttpApiEndpoint.HttpApiEndpoint.AnyWithProps
type Group = HttpApiGroup.HttpApiGroup.AnyWithProps

export interface ContractEntry {
  readonly name: string
  readonly method: "GET" | "POST" | "PATCH" | "DELETE"
  /** With `:name` for each parameter. */
  readonly path: string
  readonly group: string
  readonly gate: AnyGate
  readonly inWorkspace: boolean
  readonly rules: OperationRules
  readonly pathSchema: Option.Option<Schema.Schema.Any>
  readonly querySchema: Option.Option<Schema.Schema.Any>
  readonly headersSchema: Option.Option<Schema.Schema.Any>
  readonly bodySchema: Option.Option<Schema.Schema.Any>
  readonly successSchema: Schema.Schema.Any
  readonly successStatus: number
  readonly endpoint: Endpoint
}

/** Of several answers the one that is declared first: the usual one. */
const firstOf = (success: Schema.Schema.Any): Schema.Schema.Any =>
  SchemaAST.isUnion(success.ast) ? Schema.make(success.ast.types[0]) : success

const gates: ReadonlyArray<AnyGate> = [CallerGate, OperatorGate, WorkspaceGate]

const gateOf = (group: Group, { middlewares, name }: Endpoint): AnyGate => {
  const [gate, ...more] = gates.filter((each) =>
    [...middlewares, ...group.middlewares].some(({ key }) => key === each.key)
  )
  if (gate === undefined || more.length > 0) throw new Error(`${name} must stand behind one gate`)
  return gate
}

const entryOf = (group: Group, endpoint: Endpoint): ContractEntry => ({
  name: endpoint.name,
  method: endpoint.method as ContractEntry["method"],
  path: endpoint.path,
  group: group.identifier,
  gate: gateOf(group, endpoint),
  inWorkspace: gateOf(group, endpoint) === WorkspaceGate,
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
  Api.groups as unknown as Record<string, Group>
).flatMap((group) =>
  Object.values(group.endpoints as Record<string, Endpoint>).map((endpoint) => entryOf(group, endpoint))
)

type GroupsOf<Api> = Api extends HttpApi.HttpApi<infer _Id, infer Groups, infer _E, infer _R> ? Groups : never

type ApiErrors<Api> = Api extends HttpApi.HttpApi<infer _Id, infer _Groups, infer E, infer _R> ? E : never

/** One function for each operation of a group; `Outer` are the errors that all operations of the api share. */
type BoundGroup<G, Outer> =
  G extends HttpApiGroup.HttpApiGroup<infer _Id, infer Endpoints, infer Shared, infer R, infer _TopLevel>
    ? {
        readonly [E in Endpoints as HttpApiEndpoint.HttpApiEndpoint.Name<E>]: Bound<E, Outer | Shared, R>
      }
    : never

type Bound<E, Shared, GroupR> =
  E extends HttpApiEndpoint.HttpApiEndpoint<
    infer _Name,
    infer _Method,
    infer Path,
    infer Query,
    infer Body,
    infer Headers,
    infer Success,
    infer Failure,
    infer R,
    infer _RE
  >
    ? (request: {
        readonly path: Path
        readonly query: Filled<Query>
        readonly headers: Headers
        readonly body: Filled<Body>
      }) => Effect.Effect<
        Success | JsonOf<Success>,
        Failure | Shared,
        HttpApiMiddleware.HttpApiMiddleware.ExtractProvides<R | GroupR>
      >
    : never

type Intersected<U> = (U extends unknown ? (each: U) => void : never) extends (all: infer All) => void
  ? All
  : never

/**
 * For each operation of an api a function from the decoded request to the answer, or its JSON. A missing operation, an undeclared
 * error, an answer of another shape, or a need that the operation's gate does not provide does not compile.
 */
export type Bindings<Api> = Intersected<BoundGroup<GroupsOf<Api>, ApiErrors<Api>>>
