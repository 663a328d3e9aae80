/** Diagnosing an endpoint from recorded evidence. Source: spec §4.6. */
import { HttpApiEndpoint, OpenApi } from "@effect/platform"
import { findingCodes } from "@posthorn/domain/diagnosis/Finding"
import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import { Schema } from "effect"
import { FailureDetail, FailureReason } from "./DeliveryShapes.ts"
import { exampleId, TIME } from "./Examples.ts"
import { EndpointId, Id, Integer, IntegerOrNull, NullOr, Text, Timestamp } from "./Fields.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, Slug } from "./Shapes.ts"

const NextStep = Schema.Struct({
  operation: NullOr(
    Schema.String,
    "The operation's name, as in this document; null for a person's step.",
    "updateWebhookEndpoint"
  ),
  tool: NullOr(
    Schema.String,
    "The operation's MCP tool; null for a person's step.",
    "update_webhook_endpoint"
  ),
  arguments: NullOr(
    Schema.Record({ key: Schema.String, value: Schema.Unknown.annotations({ jsonSchema: {} }) }),
    "What to give it: members of path, query and body in one object; null when it is work for a person.",
    { endpointId: exampleId("endpoint") }
  ),
  fillIn: Schema.Array(Schema.String).annotations({
    description:
      "Arguments to find out, ask for, or decide. A tool's step without any is safe to run unchanged: it removes nothing, rotates nothing, and sends nothing again that may already have had an effect.",
    examples: [["url"]]
  }),
  why: Text("What it is good for.", "Correct the path of the URL.")
}).annotations({ identifier: "NextStep" })

const CHANGED_AT = "2026-11-21T12:40:00.000Z"

const ChangeBefore = Schema.Struct({
  auditEventId: Id("audit", "Id of the audit event."),
  action: Text("What was done.", "webhook.endpoint_updated"),
  fields: Schema.Array(Schema.String).annotations({
    description: "The members that changed.",
    examples: [["url"]]
  }),
  at: Timestamp.annotations({ description: "When it was changed.", examples: [CHANGED_AT] }),
  via: Text("The transport it came through.", "rest")
}).annotations({
  identifier: "ChangeBefore",
  description: "The recorded change that preceded it and may explain it."
})

const Finding = Schema.Struct({
  code: Schema.Literal(...findingCodes).annotations({
    description: "What was found: one of a fixed list, see docs/mcp.md.",
    examples: ["not_found"]
  }),
  summary: Text(
    "What is wrong, in one or two sentences.",
    "The receiver answers 404 since the URL was changed."
  ),
  since: NullOr(Timestamp, "When it began, as far as the evidence goes.", TIME),
  reason: NullOr(
    FailureReason,
    "Why the attempts fail; null when that is not what was found.",
    "http_status"
  ),
  failureDetail: FailureDetail,
  httpStatus: IntegerOrNull("The status of the failed answers.", 404),
  inARow: Integer("The endpoint's failures in a row up to now.", 4),
  changedBefore: NullOr(ChangeBefore, "What was changed shortly before it began; null when nothing was.", {
    auditEventId: exampleId("audit"),
    action: "webhook.endpoint_updated",
    fields: ["url"],
    at: CHANGED_AT,
    via: "rest"
  }),
  confidence: Schema.Literal("high", "medium", "low").annotations({
    description: "How sure this is; `because` says why."
  }),
  because: Text(
    "The facts behind it.",
    `The last 4 attempts failed in this way. The URL was changed at ${CHANGED_AT}, before the first failure.`
  ),
  deliveryIds: Schema.Array(Schema.String).annotations({
    description: "Deliveries that show it, newest first; at most 3.",
    examples: [[exampleId("delivery")]]
  }),
  nextSteps: Schema.Array(NextStep).annotations({ description: "In the order to take them." })
}).annotations({ identifier: "Finding" })

const EndpointDiagnosis = Schema.Struct({
  endpointId: EndpointId,
  health: Schema.Literal("healthy", "failing", "unstable", "disabled", "unproven").annotations({
    description:
      "`unstable` delivers and fails in turn; `unproven` has no attempt on record, or gets nothing that is published.",
    examples: ["failing"]
  }),
  diagnosedAt: Timestamp,
  examined: Schema.Struct({
    attempts: Integer("How many attempts were looked at; at most 100, newest first.", 100),
    since: NullOr(Timestamp, "The oldest of them.", CHANGED_AT)
  }).annotations({ description: "What the findings are based on." }),
  findings: Schema.Array(Finding).annotations({ description: "In the order to act on them; at least one." })
}).annotations({
  identifier: "EndpointDiagnosis",
  description: "What is wrong with an endpoint, and what to do."
})

export const diagnoseWebhookEndpoint = HttpApiEndpoint.get(
  "diagnoseWebhookEndpoint",
  "/workspaces/:slug/webhooks/:endpointId/diagnosis"
)
  .setPath(Schema.Struct({ slug: Slug, endpointId: IdParam("endpoint") }))
  .addSuccess(EndpointDiagnosis)
  .addError(failure(WebhookEndpointNotFound))
  .annotate(OpenApi.Summary, "Diagnose an endpoint")
  .annotate(
    OpenApi.Description,
    "Says why an endpoint does not get its webhooks: what is wrong, since when, how many in a row, what was changed before, how sure that is, and the next steps. From recorded evidence alone; sends nothing to the receiver."
  )
  .annotateContext(
    operation({
      permission: "webhook:list",
      bucket: "assistant",
      tool: "diagnose_webhook_endpoint",
      toolset: "core",
      guidance:
        "Start here whenever a webhook does not arrive. Follow nextSteps in order: one without a tool is for a person; with an empty fillIn it is safe to run as it stands; fillIn names arguments to find out or ask for."
    })
  )
