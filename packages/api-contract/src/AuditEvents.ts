/** The audit log: who changed what, through which transport. Source: spec §6 and §6.1. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { AuditAction } from "@posthorn/domain/AuditAction"
import { Maker } from "@posthorn/domain/Principal"
import { Schema } from "effect"
import { A_DAY_LATER, exampleId } from "./Examples.ts"
import { actorFields, Id, NullOr, Text, Timestamp, TraceId } from "./Fields.ts"
import { OperatorGate, WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { Moment, PageOf, pageQuery, Slug, Storable, strictRequest } from "./Shapes.ts"

const AuditEvent = Schema.Struct({
  id: Id("audit"),
  action: Text("What was done.", "webhook.endpoint_updated"),
  actor: Schema.Struct({
    ...actorFields,
    name: NullOr(
      Schema.String,
      "The name that the token, the member or the operator had then; null if it had none.",
      "ci"
    ),
    root: NullOr(
      Schema.Struct({
        type: Maker.fields.type.annotations({ description: "Its kind." }),
        id: Text("Id of the token; `operator` for the operator.", exampleId("token"))
      }),
      "What the chain of tokens, links and sessions behind the actor began with; null where there is none.",
      { type: "api_token", id: exampleId("token") }
    )
  }).annotations({ description: "Who did it, and through which transport." }),
  target: Schema.Struct({
    type: Text("Its kind.", "webhook_endpoint"),
    id: Text("Its id.", exampleId("endpoint"))
  }).annotations({ description: "What was changed; it may be gone by now." }),
  changes: NullOr(
    Schema.Struct(
      { fields: Schema.Array(Schema.String).annotations({ description: "The members that changed." }) },
      Schema.Record({ key: Schema.String, value: Schema.Unknown.annotations({ jsonSchema: {} }) })
    ),
    "The names of the changed fields, and facts; never a secret.",
    { fields: ["url"] }
  ),
  traceId: TraceId,
  createdAt: Timestamp
}).annotations({
  identifier: "AuditEvent",
  description: "One change, written together with it. Never altered."
})

const AuditEventPage = PageOf("AuditEvent", AuditEvent)

/** What both logs are filtered by. */
const filters = {
  action: Schema.optional(
    AuditAction.annotations({
      description: "Only this action.",
      examples: ["webhook.endpoint_updated"],
      message: () => ({ message: "Expected an action such as webhook.endpoint_updated", override: true })
    })
  ),
  actor: Schema.optional(
    Storable.annotations({
      description: "Only by this actor: an id, or an operator's name.",
      examples: ["ci"]
    })
  ),
  target: Schema.optional(
    Storable.annotations({
      description: "Only what was done to this: an id.",
      examples: [exampleId("endpoint")]
    })
  ),
  since: Schema.optional(Moment("Only what was done then or later.")),
  until: Schema.optional(Moment("Only what was done before then.", A_DAY_LATER))
}

const listAuditEvents = HttpApiEndpoint.get("listAuditEvents", "/workspaces/:slug/audit-events")
  .middleware(WorkspaceGate)
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(strictRequest(Schema.Struct({ ...pageQuery, ...filters })))
  .addSuccess(AuditEventPage)
  .annotate(OpenApi.Summary, "List audit events")
  .annotate(
    OpenApi.Description,
    "Newest first. Publishes and test sends are not in it: their deliveries are their record."
  )
  .annotateContext(
    operation({
      permission: "audit:list",
      bucket: "rest_read",
      tool: "list_audit_events",
      toolset: "manage",
      guidance: "Use it to learn who changed what, and when."
    })
  )

const listOperatorAuditEvents = HttpApiEndpoint.get("listOperatorAuditEvents", "/audit-events")
  .middleware(OperatorGate)
  .setUrlParams(strictRequest(Schema.Struct({ ...pageQuery, ...filters })))
  .addSuccess(AuditEventPage)
  .annotate(OpenApi.Summary, "List what the operator did to workspaces")
  .annotate(OpenApi.Description, "Newest first: workspaces created and deleted. It outlives the workspaces.")
  .annotateContext(
    operation({
      permission: "operator",
      bucket: "rest_read",
      tool: "list_operator_audit_events",
      toolset: "operator",
      guidance: "Use it to learn when a workspace was made or deleted, even a deleted one."
    })
  )

export class AuditEventsApi extends HttpApiGroup.make("auditEvents")
  .add(listAuditEvents)
  .add(listOperatorAuditEvents)
  .annotate(OpenApi.Title, "Audit events")
  .annotate(OpenApi.Description, "Who changed what, and through which transport.") {}
