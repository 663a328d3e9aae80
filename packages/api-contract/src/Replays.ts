/** Replay jobs: sending again everything that an endpoint did not receive in a time range. Source: spec §4.6. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import {
  IdempotencyKeyInUse,
  IdempotencyKeyReused,
  ReplayNotFound,
  WebhookEndpointDisabled,
  WebhookEndpointNotFound
} from "@posthorn/domain/Errors"
import * as States from "@posthorn/domain/States"
import { Schema } from "effect"
import { A_DAY_LATER } from "./Examples.ts"
import { EndpointId, Id, Integer, NullOr, Timestamp } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import {
  IdParam,
  idempotencyKey,
  Moment,
  PageOf,
  pageQuery,
  Slug,
  strictRequest,
  withDefault,
  withStatus
} from "./Shapes.ts"

const ReplayableStatus = States.ReplayableStatus.annotations({
  identifier: "ReplayableStatus",
  description: "`failed` ones are still being retried, and may then arrive twice.",
  examples: ["dead_lettered"],
  message: () => "Expected failed, failed_permanent or dead_lettered"
})

const LeftOut = Schema.Struct({
  recovered: Integer("A replay or resend of them was delivered since.", 3),
  underWay: Integer("A replay or resend of them is pending or retrying.", 0),
  tests: Integer("Failed test sends.", 1)
}).annotations({
  identifier: "LeftOut",
  description: "Deliveries in the range that are not in `matched`, counted at the start."
})

export const Replay = Schema.Struct({
  id: Id("replay", "`rpl_…`"),
  endpointId: EndpointId.annotations({ description: "The endpoint whose deliveries are replayed." }),
  statuses: Schema.Array(ReplayableStatus).annotations({
    description: "What the deliveries must have been at the start."
  }),
  since: Timestamp.annotations({
    description: "Deliveries and events created then or later. RFC 3339."
  }),
  until: NullOr(
    Timestamp,
    "Those created before then; null for all up to the start of the job.",
    A_DAY_LATER
  ),
  state: States.ReplayState.annotations({
    description:
      "A running job waits while its endpoint is disabled. Three jobs of a workspace run at a time; later ones are `queued`."
  }),
  matched: Integer("Deliveries and events that the job covers, counted at its start.", 7),
  missed: Integer("How many of them are events that the endpoint missed while it was disabled.", 2),
  unsent: Integer(
    "How many of them are events that the endpoint wants, and that it was neither sent nor missed.",
    0
  ),
  leftOut: LeftOut,
  replayed: Integer(
    "Those for which a new delivery was made so far, by this job or by somebody else meanwhile.",
    5
  ),
  failed: Integer(
    "Sources that could not be replayed, because they were gone; counted when the job is done.",
    0
  ),
  createdAt: Timestamp.annotations({ description: "When it was started.", examples: [A_DAY_LATER] }),
  finishedAt: NullOr(Timestamp, "When it was done or cancelled; null while it runs.", null)
}).annotations({
  identifier: "Replay",
  description: "A job that replays what an endpoint did not receive in a time range."
})
export type Replay = typeof Replay.Type

const ReplayPage = PageOf("Replay", Replay)

export const ReplayCount = Schema.Struct({
  matched: Integer("Deliveries and events that a job over the same range would cover.", 7),
  missed: Integer("How many of them are missed events.", 2),
  unsent: Integer("How many of them are events that were neither sent nor missed.", 0),
  leftOut: LeftOut
}).annotations({ identifier: "ReplayCount", description: "What a replay job would cover." })

const UNTIL = "Those created before then; null or left out: all up to now."

const StartReplay = Schema.Struct({
  statuses: withDefault(
    Schema.Array(ReplayableStatus)
      .pipe(Schema.minItems(1), Schema.maxItems(3))
      .annotations({
        description: "Which deliveries: of these statuses.",
        message: () => "Expected 1 to 3 of failed, failed_permanent and dead_lettered"
      }),
    ["failed_permanent", "dead_lettered"] as const
  ),
  since: Moment("Deliveries, and events, created then or later."),
  until: Schema.optional(NullOr(Moment(UNTIL), UNTIL, A_DAY_LATER)),
  includeMissed: withDefault(
    Schema.Boolean.annotations({
      description: "Whether events that the endpoint missed while it was disabled are sent too, each once.",
      examples: [true]
    }),
    false
  ),
  includeUnsent: withDefault(
    Schema.Boolean.annotations({
      description:
        "Whether events from before the endpoint was made or changed are sent too, if it wants them now.",
      examples: [true]
    }),
    false
  ),
  includeRecovered: withDefault(
    Schema.Boolean.annotations({
      description: "Whether deliveries that a later replay or resend recovered are sent again too.",
      examples: [false]
    }),
    false
  ),
  includeTests: withDefault(
    Schema.Boolean.annotations({
      description: "Whether failed test sends are sent again too.",
      examples: [false]
    }),
    false
  ),
  dryRun: withDefault(
    Schema.Boolean.annotations({
      description: "Only count; nothing is started, and the endpoint may be disabled.",
      examples: [false]
    }),
    false
  )
}).annotations({ identifier: "StartReplay" })

const inReplay = Schema.Struct({ slug: Slug, replayId: IdParam("replay") })

const startReplay = HttpApiEndpoint.post("startReplay", "/workspaces/:slug/webhooks/:endpointId/replays")
  .setPath(Schema.Struct({ slug: Slug, endpointId: IdParam("endpoint") }))
  .setHeaders(Schema.Struct(idempotencyKey))
  .setPayload(strictRequest(StartReplay))
  .addSuccess(withStatus(202, Replay))
  .addSuccess(withStatus(200, ReplayCount))
  .addError(failure(WebhookEndpointNotFound))
  .addError(failure(WebhookEndpointDisabled))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Replay all that failed in a time")
  .annotate(
    OpenApi.Description,
    "Starts a job that makes a new delivery for each source, with its audit event. It goes only as fast as the endpoint takes it. With `dryRun` it only counts (200). What was recovered meanwhile, or is under way again, is left out, so a second job finds only what failed anew."
  )
  .annotateContext(
    operation({
      permission: "webhook:replay",
      bucket: "rest_write",
      tool: "start_webhook_replay",
      toolset: "core",
      changesNothing: ({ dryRun }: { readonly dryRun: boolean }) => dryRun,
      statusOf: (answer) => ("id" in answer ? 202 : 200),
      location: (path, answer) =>
        answer.id === undefined ? null : `/workspaces/${path.slug}/webhooks/replays/${answer.id}`,
      guidance:
        "After an outage, when the receiver is mended and the endpoint enabled: first with dryRun true to see how many there are, then without. get_webhook_replay shows the progress."
    })
  )

const listReplays = HttpApiEndpoint.get("listReplays", "/workspaces/:slug/webhooks/replays")
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(strictRequest(Schema.Struct(pageQuery)))
  .addSuccess(ReplayPage)
  .annotate(OpenApi.Summary, "List replay jobs")
  .annotate(OpenApi.Description, "Newest first, with their progress.")
  .annotateContext(
    operation({
      permission: "webhook:read",
      bucket: "rest_read",
      tool: "list_webhook_replays",
      toolset: "core",
      guidance: "To see whether somebody is replaying already, before you start a job."
    })
  )

const getReplay = HttpApiEndpoint.get("getReplay", "/workspaces/:slug/webhooks/replays/:replayId")
  .setPath(inReplay)
  .addSuccess(Replay)
  .addError(failure(ReplayNotFound))
  .annotate(OpenApi.Summary, "Get a replay job")
  .annotate(OpenApi.Description, "With its progress: `replayed` of `matched`.")
  .annotateContext(
    operation({
      permission: "webhook:read",
      bucket: "rest_read",
      tool: "get_webhook_replay",
      toolset: "core",
      guidance: "Call it again every few seconds until state is done."
    })
  )

const cancelReplay = HttpApiEndpoint.del("cancelReplay", "/workspaces/:slug/webhooks/replays/:replayId")
  .setPath(inReplay)
  .addSuccess(Replay)
  .addError(failure(ReplayNotFound))
  .annotate(OpenApi.Summary, "Cancel a replay job")
  .annotate(
    OpenApi.Description,
    "No further deliveries are made; those made so far stay and are sent. A job that has ended is not changed."
  )
  .annotateContext(
    operation({
      permission: "webhook:replay",
      bucket: "rest_write",
      tool: "cancel_webhook_replay",
      toolset: "core",
      destructive: true,
      idempotent: true,
      guidance: "When a replay turns out to be wrong, or its receiver cannot take it."
    })
  )

export class ReplaysApi extends HttpApiGroup.make("replays")
  .add(startReplay)
  .add(listReplays)
  .add(getReplay)
  .add(cancelReplay)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Replays")
  .annotate(OpenApi.Description, "Getting back what an endpoint did not receive.") {}
