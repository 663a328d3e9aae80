/** Diagnosing an endpoint from recorded evidence. Source: decision §4 (diagnoseWebhookEndpoint). */
import { HttpApiEndpoint, OpenApi } from "@effect/platform"
import { WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import { findingCodes } from "@posthorn/domain/Finding"
import { Schema } from "effect"
import { FailureReason } from "./DeliveryShapes.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, Integer, Slug, Timestamp } from "./Wire.ts"

const NextStep = Schema.Struct({
  operation: Schema.NullOr(Schema.String).annotations({
    description: "The operation's name, as in this document; null when it is work for a person."
  }),
  tool: Schema.NullOr(Schema.String).annotations({
    description: "The operation's MCP tool; null when it is work for a person."
  }),
  arguments: Schema.NullOr(
    Schema.Record({ key: Schema.String, value: Schema.Unknown.annotations({ jsonSchema: {} }) })
  ).annotations({
    description:
      "What to give it: members of path, query and body in one object; null when it is work for a person."
  }),
  fillIn: Schema.Array(Schema.String).annotations({
    description:
      "Arguments to find out, ask for, or decide on. A step of a tool that has none is safe to run as it stands: it removes nothing, rotates nothing, and sends nothing again that may already have had its effect."
  }),
  why: Schema.String
}).annotations({ identifier: "NextStep" })

const ChangeBefore = Schema.Struct({
  auditEventId: Schema.String,
  action: Schema.String.annotations({ examples: ["webhook.endpoint_updated"] }),
  fields: Schema.Array(Schema.String),
  at: Timestamp,
  via: Schema.String
}).annotations({
  identifier: "ChangeBefore",
  description: "The change on record that came before and may explain it."
})

const Finding = Schema.Struct({
  code: Schema.Literal(...findingCodes),
  summary: Schema.String.annotations({ description: "What is wrong, in one or two sentences." }),
  since: Schema.NullOr(Timestamp).annotations({ description: "When it began, as far as the evidence goes." }),
  reason: Schema.NullOr(FailureReason),
  httpStatus: Schema.NullOr(Integer("The status of the failed answers.")),
  inARow: Integer("Failed attempts in a row up to now."),
  changedBefore: Schema.NullOr(ChangeBefore),
  confidence: Schema.Literal("high", "medium", "low").annotations({
    description: "How sure this is; `because` says why."
  }),
  because: Schema.String,
  deliveryIds: Schema.Array(Schema.String).annotations({
    description: "Deliveries that show it, newest first; at most 3."
  }),
  nextSteps: Schema.Array(NextStep).annotations({ description: "In the order to take them." })
}).annotations({ identifier: "Finding" })

export const EndpointDiagnosis = Schema.Struct({
  endpointId: Schema.String,
  health: Schema.Literal("healthy", "failing", "unstable", "disabled", "unproven").annotations({
    description:
      "`unstable` delivers and fails in turn; `unproven` has no attempt on record, or subscribes to nothing that is published."
  }),
  diagnosedAt: Timestamp,
  examined: Schema.Struct({
    attempts: Integer("How many attempts were looked at; at most 100, newest first."),
    since: Schema.NullOr(Timestamp).annotations({ description: "The oldest of them." })
  }),
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
    "Says why an endpoint does not get its webhooks: what is wrong, since when, how many in a row, what was changed before, how sure that is, and the next steps. From recorded evidence alone; sends nothing to the receiver. The same evidence always gives the same answer."
  )
  .annotateContext(
    operation({
      permission: "webhook:list",
      bucket: "assistant",
      tool: "diagnose_webhook_endpoint",
      guidance:
        "Start here whenever a webhook does not arrive. Follow nextSteps in order: one without a tool is for a person; one whose fillIn is empty is safe to run as it stands; fillIn names arguments that you must find out or ask for."
    })
  )
