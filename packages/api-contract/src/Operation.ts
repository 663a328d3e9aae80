/**
 * The contract's rules for an operation beyond HTTP: who may call it, its rate-limit bucket, its MCP tool, and the kind of its
 * answer.
 *
 * REST, MCP, OpenAPI and the tests that walk the contract all read these rules; none of them has a list of its own.
 */
import type { HttpApiEndpoint } from "@effect/platform"
import type { Bucket } from "@posthorn/domain/Bucket"
import type { Requirement } from "@posthorn/domain/Permission"
import { Context } from "effect"

/**
 * Groups of tools, of which an agent may ask for some: a model reads the whole list before its first word. `core` sees and repairs,
 * `manage` creates and removes.
 */
export const toolsets = ["core", "publish", "manage", "catalogue", "routing", "operator"] as const
export type Toolset = (typeof toolsets)[number]

export interface OperationRules {
  readonly permission: Requirement
  readonly bucket: Bucket
  /** Name of its MCP tool. */
  readonly tool: string
  readonly toolset: Toolset
  /** For agents, after the description: when to use the tool, and which tool to call next. */
  readonly guidance?: string
  /** For agents: whether it may remove or stop something. Defaults to true for DELETE only. */
  readonly destructive?: boolean
  /** For agents: whether it changes nothing. Defaults to true for GET only. */
  readonly readOnly?: boolean
  /** For agents: whether a call that changes nothing here asks somebody else. Defaults to false. */
  readonly reachesOut?: boolean
  /** For agents: whether calling it again changes nothing more. Defaults to true for GET and DELETE only. */
  readonly idempotent?: boolean
  /** The answer's member that is a secret, shown once: no cache may keep an answer that has it. */
  readonly secret?: string
  /** Members that REST has and its tool has not. */
  readonly notInTool?: { readonly body: ReadonlyArray<string>; readonly answer: ReadonlyArray<string> }
  /** The path of what was created, under BASE_URL, for the `Location` header; null if this call created nothing. */
  readonly location?: (
    path: Readonly<Record<string, string>>,
    answer: { readonly id?: string }
  ) => string | null
  /** For an operation with several success statuses. Defaults to the one status of its answer. */
  readonly statusOf?: (answer: object) => number
  /** The answer is an endpoint or an event type, and comes with its `ETag`. */
  readonly tagged?: boolean
  /** The operation handles idempotency keys itself; `idempotent` does not keep its answer. */
  readonly ownKeys?: boolean
  /** Whether a call with this body changes nothing, so that no answer is kept under a key. */
  readonly changesNothing?: (body: never) => boolean
  /** The answer to a repeated call with the same idempotency key. Defaults to the first answer. */
  readonly repeated?: (answer: never) => unknown
  /** A missing body counts as an empty object. */
  readonly optionalBody?: boolean
  /** How much longer than other operations it may take to answer. */
  readonly waitsMs?: number
  /** Members of the body that keep their exact text. */
  readonly raw?: ReadonlyArray<ReadonlyArray<string>>
}

export class Operation extends Context.Tag("@posthorn/api-contract/Operation")<Operation, OperationRules>() {}

/** `.annotateContext(operation({ … }))` on a contract entry. */
export const operation = (rules: OperationRules) => Operation.context(rules)

export const rulesOf = (endpoint: HttpApiEndpoint.HttpApiEndpoint.AnyWithProps): OperationRules =>
  Context.unsafeGet(endpoint.annotations, Operation)
