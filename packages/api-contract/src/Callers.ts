/** Identifying the caller: the one operation that any valid token may call. Source: spec §5.2. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { permissions, Scope } from "@posthorn/domain/Permission"
import { Schema } from "effect"
import { exampleId } from "./Examples.ts"
import { ExpiresAt, NullOr, SlugOfWorkspace, Text } from "./Fields.ts"
import { CallerGate } from "./Gates.ts"
import { operation } from "./Operation.ts"

export const Caller = Schema.Struct({
  type: Schema.Literal("operator", "api_token", "member").annotations({
    description: "Its kind.",
    examples: ["api_token"]
  }),
  id: Text("The token's or the member's id; `operator` for the operator.", exampleId("token")),
  name: Text("For people.", "Billing service"),
  workspace: NullOr(
    Schema.Struct({ slug: SlugOfWorkspace, name: Text("For people.", "Acme Inc.") }),
    "The caller's workspace; null for the operator, who may use all.",
    { slug: "acme", name: "Acme Inc." }
  ),
  scopes: Schema.Array(Scope).annotations({
    description: "As they were given.",
    examples: [["event:publish", "webhook:list"]]
  }),
  permissions: Schema.Array(Schema.Literal(...permissions)).annotations({
    description: "Everything the scopes allow, bundles taken apart.",
    examples: [["webhook:read", "webhook:list", "event:publish"]]
  }),
  expiresAt: ExpiresAt.annotations({ description: "When the token ends; null when it does not." })
}).annotations({ identifier: "Caller", description: "Who is calling, and what they may do." })
export type Caller = typeof Caller.Type

const getCaller = HttpApiEndpoint.get("getCaller", "/caller")
  .addSuccess(Caller)
  .annotate(OpenApi.Summary, "Say who is calling")
  .annotate(
    OpenApi.Description,
    "Which workspace this token opens, what it may do, and until when. Start here with a token you know nothing about."
  )
  .annotateContext(
    operation({
      permission: "any",
      bucket: "rest_read",
      tool: "get_caller",
      toolset: "manage",
      guidance: "It needs no argument."
    })
  )

export class CallerApi extends HttpApiGroup.make("caller")
  .add(getCaller)
  .middleware(CallerGate)
  .annotate(OpenApi.Title, "Caller")
  .annotate(OpenApi.Description, "Who a token is.") {}
