/**
 * Walks the contract: every operation as plain data, for code that derives something from all of them.
 *
 * The types of requests and answers are lost here; the builder checks them where the operations are implemented.
 */
import type { HttpApiEndpoint, HttpApiGroup } from "@effect/platform"
import { HttpApiSchema } from "@effect/platform"
import { Option, Schema, SchemaAST } from "effect"
import { Api } from "./Api.ts"
import { type AnyGate, CallerGate, OperatorGate, WorkspaceGate } from "./Gates.ts"
import { type OperationRules, rulesOf } from "./Operation.ts"

type Endpoint = HttpApiEndpoint.HttpApiEndpoint.AnyWithProps
type Group = HttpApiGroup.HttpApiGroup.AnyWithProps

export interface ContractEntry {
  readonly name: string
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE"
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

/** The answer that is declared first, which is the usual one. */
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

/** The names of the members of path, query or body, as sent. */
export const membersOf = (part: Option.Option<Schema.Schema.Any>): ReadonlyArray<string> =>
  Option.match(part, {
    onNone: () => [],
    onSome: ({ ast }) => {
      const encoded = SchemaAST.encodedAST(ast)
      return SchemaAST.isTypeLiteral(encoded)
        ? encoded.propertySignatures.map(({ name }) => String(name))
        : []
    }
  })

/** Whether its answers are kept under idempotency keys by the common rule. */
export const keepsAnswers = ({ headersSchema, rules }: ContractEntry): boolean =>
  rules.ownKeys !== true && membersOf(headersSchema).includes("idempotency-key")

/** Every operation, in the order of the contract. */
export const entries: ReadonlyArray<ContractEntry> = Object.values(
  Api.groups as unknown as Record<string, Group>
).flatMap((group) =>
  Object.values(group.endpoints as Record<string, Endpoint>).map((endpoint) => entryOf(group, endpoint))
)
