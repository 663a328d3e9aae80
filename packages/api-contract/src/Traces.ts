/** Traces: everything that became of an event, in order of time, found by any of its ids. Source: spec §4.6. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { TraceNotFound } from "@posthorn/domain/Errors"
import { Schema } from "effect"
import { exampleId, TIME, TRACE_ID } from "./Examples.ts"
import { Id, Text, Timestamp } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { Slug } from "./Shapes.ts"

const KINDS = [
  "`event`: it was published; `eventType`, `traceId`, `deliveries`, `missed`, `actor`.",
  "`delivery`: one was made; `endpointId`, `eventType`, `status` (the present one), `attempts`, `traceId`, `test`, and of a test send its `actor`, else null.",
  "`attempt`: the receiver was called; `deliveryId`, `ordinal`, `status`, `httpStatus`, `failureReason`, `durationMs`.",
  "`replay`: the delivery of this `id` was made by a replay; `replayedFrom` (null for a missed event), `replayId` (the job, or null).",
  "`audit`: somebody did something; `action`, `actor`, `target`."
].join(" ")

const TraceItem = Schema.Struct(
  {
    at: Timestamp.annotations({ description: "When it happened." }),
    kind: Schema.Literal("event", "delivery", "attempt", "replay", "audit").annotations({
      description: KINDS
    }),
    id: Id("event", "Of the event, delivery, attempt or audit event.")
  },
  Schema.Record({ key: Schema.String, value: Schema.Unknown.annotations({ jsonSchema: {} }) })
).annotations({
  identifier: "TraceItem",
  description: "One item, with the members of its kind.",
  examples: [
    {
      at: TIME,
      kind: "event",
      id: exampleId("event"),
      eventType: "invoice.paid",
      traceId: TRACE_ID,
      deliveries: 2,
      missed: 0,
      actor: { type: "api_token", id: exampleId("token"), via: "rest" }
    }
  ]
})
export type TraceItem = typeof TraceItem.Type

export const Trace = Schema.Struct({
  id: Text("As it was asked for.", TRACE_ID),
  items: Schema.Array(TraceItem).annotations({ description: "In order of time." }),
  truncated: Schema.Boolean.annotations({
    description: "Whether there is more than the 1,000 items that are shown, the oldest ones.",
    examples: [false]
  })
}).annotations({ identifier: "Trace", description: "Everything that became of an event." })
export type Trace = typeof Trace.Type

const getTrace = HttpApiEndpoint.get("getTrace", "/workspaces/:slug/trace/:traceId")
  .setPath(
    Schema.Struct({
      slug: Slug,
      traceId: Schema.String.annotations({
        description: "A trace id (`x-trace-id`), a delivery's id (`webhook-id`) or an event's id.",
        examples: [TRACE_ID]
      })
    })
  )
  .addSuccess(Trace)
  .addError(failure(TraceNotFound))
  .annotate(OpenApi.Summary, "Follow an id")
  .annotate(
    OpenApi.Description,
    "The publish, its deliveries with their attempts, replays, and what the audit log says of them, in order of time: everything of the same event, whichever of its ids is given."
  )
  .annotateContext(
    operation({
      permission: "webhook:list",
      bucket: "rest_read",
      tool: "get_trace",
      toolset: "core",
      guidance:
        "When somebody sends one id and asks what happened: it takes an x-trace-id, a webhook-id or an event id."
    })
  )

export class TracesApi extends HttpApiGroup.make("traces")
  .add(getTrace)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Traces")
  .annotate(OpenApi.Description, "One id to follow.") {}
