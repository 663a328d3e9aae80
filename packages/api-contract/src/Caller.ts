/** Who a token is: the one question that any valid token may ask. Source: decision §10 (Caller). */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { permissions, Scope } from "@posthorn/domain/Permission"
import { Schema } from "effect"
import { CallerGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { Timestamp } from "./Wire.ts"

export const Caller = Schema.Struct({
  type: Schema.Literal("operator", "api_token", "member"),
  id: Schema.String.annotations({
    description: "The token's or the member's id; `operator` for the operator."
  }),
  name: Schema.String,
  workspace: Schema.NullOr(Schema.Struct({ slug: Schema.String, name: Schema.String })).annotations({
    description: "The workspace that is open to the caller; null for the operator, to whom every one is."
  }),
  scopes: Schema.Array(Scope).annotations({ description: "As they were given." }),
  permissions: Schema.Array(Schema.Literal(...permissions)).annotations({
    description: "Everything the scopes allow, bundles taken apart."
  }),
  expiresAt: Schema.NullOr(Timestamp).annotations({
    description: "When the token ends; null when it does not."
  })
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
      guidance: "It needs no argument."
    })
  )

export class CallerApi extends HttpApiGroup.make("caller")
  .add(getCaller)
  .middleware(CallerGate)
  .annotate(OpenApi.Title, "Caller")
  .annotate(OpenApi.Description, "Who a token is.") {}
