/**
 * What the contract says of an operation beyond HTTP: who may call it, what it costs, its MCP tool, what its answer is.
 *
 * REST, MCP, OpenAPI and the tests that walk the contract all read these rules; none of them has a list of its own.
 */
import type { HttpApiEndpoint } from "@effect/platform"
import type { Bucket } from "@posthorn/domain/Bucket"
import type { Requirement } from "@posthorn/domain/Permission"
import { Context } from "effect"

export interface OperationRules {
  readonly permission: Requirement
  readonly bucket: Bucket
  /** Name of its MCP tool. */
  readonly tool: string
  /** For agents, after the description: when to use the tool, and which to call next. */
  readonly guidance?: string
  /** For agents: may it remove or stop something. Default false. */
  readonly destructive?: boolean
  /** For agents: changes nothing, as every GET does. Default: only for GET. */
  readonly readOnly?: boolean
  /** For agents: does calling it again change nothing more. Default: only for GET. */
  readonly idempotent?: boolean
  /** The answer holds a secret that is shown once: no cache may keep it. */
  readonly secret?: boolean
  /** Path of what was created, for the `Location` header, under BASE_URL; null when this answer created nothing. */
  readonly location?: (
    path: Readonly<Record<string, string>>,
    answer: { readonly id?: string }
  ) => string | null
  /** For an operation with answers of several statuses. Default: the one status of its answer. */
  readonly statusOf?: (answer: object) => number
  /** The answer is an endpoint and comes with its `ETag`. */
  readonly tagged?: boolean
  /** It has a rule of its own for idempotency keys: its answer is not kept by the common one. */
  readonly ownKeys?: boolean
  /** Whether a call with this body changes nothing: its answer is not kept under a key. */
  readonly changesNothing?: (body: never) => boolean
  /** What is given to whoever repeats the call under its idempotency key. Default: the answer itself. */
  readonly repeated?: (answer: never) => unknown
  /** A call without a body is one with an empty object. */
  readonly optionalBody?: boolean
  /** How much longer than others it may take to answer. */
  readonly waitsMs?: number
  /** Members of the body that are carried as the exact text that was sent. */
  readonly raw?: ReadonlyArray<ReadonlyArray<string>>
}

export class Operation extends Context.Tag("@posthorn/api-contract/Operation")<Operation, OperationRules>() {}

/** `.annotateContext(operation({ … }))` on a contract entry. */
export const operation = (rules: OperationRules) => Operation.context(rules)

export const rulesOf = (endpoint: HttpApiEndpoint.HttpApiEndpoint.AnyWithProps): OperationRules =>
  Context.unsafeGet(endpoint.annotations, Operation)
