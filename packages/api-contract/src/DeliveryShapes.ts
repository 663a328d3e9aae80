/** The shapes of a delivery and an attempt. Source: spec §2.2, §2.3 and §4.5. */
import * as States from "@posthorn/domain/States"
import * as Verdict from "@posthorn/domain/Verdict"
import { Schema } from "effect"
import { exampleId, TIME, TRACE_ID, URL_OF_RECEIVER } from "./Examples.ts"
import {
  DeliveryId,
  EndpointId,
  Id,
  IdOrNull,
  Integer,
  IntegerOrNull,
  NullOr,
  Text,
  Timestamp,
  TraceId,
  TypeOfEvent
} from "./Fields.ts"
import { JsonValue, PageOf } from "./Shapes.ts"

export const DeliveryStatus = States.DeliveryStatus.annotations({
  identifier: "DeliveryStatus",
  description:
    "`failed` will be tried again; `failed_permanent` was refused by the receiver or has a bad URL; `dead_lettered` has spent its retries.",
  examples: ["delivered"],
  message: () => "Expected pending, delivered, failed, failed_permanent or dead_lettered"
})

export const FailureReason = Verdict.FailureReason.annotations({ identifier: "FailureReason" })

export const FailureDetail = NullOr(
  Verdict.FailureDetail.annotations({ identifier: "FailureDetail" }),
  "What the failure of the connection, or of TLS, was; null where there is no more to say. `incomplete_chain`: only the receiver's own certificate came, and no known authority signed that.",
  null
)

export const Delivery = Schema.Struct({
  id: Id("delivery", "Also the `webhook-id` header; the same on every retry, new on a replay."),
  endpointId: EndpointId,
  eventId: IdOrNull("event", "Null for a test send."),
  eventType: TypeOfEvent,
  status: DeliveryStatus,
  attempts: Integer("Attempts recorded so far; at most 7.", 1),
  nextAttemptAt: NullOr(Timestamp, "When it is tried next, at the earliest; null when it is not.", null),
  payload: JsonValue,
  replayedFrom: IdOrNull("delivery", "The delivery this one repeats; kept when that one is gone.", null),
  recoveredBy: IdOrNull(
    "delivery",
    "The replay or resend of the same event to the same endpoint, made later, that was delivered; null if there is none, or this one did not fail.",
    null
  ),
  test: Schema.Boolean.annotations({
    description: "Whether it is a test send, or a replay of one; then it carries `x-posthorn-test: true`.",
    examples: [false]
  }),
  lastHttpStatus: IntegerOrNull("The receiver's HTTP status; null when no usable answer came.", 200),
  lastFailureReason: NullOr(FailureReason, "Why the last attempt failed; null when it did not.", null),
  lastDurationMs: IntegerOrNull("Milliseconds the last attempt took; null before the first.", 42),
  lastAttemptAt: NullOr(Timestamp, "When the last attempt began; null before the first.", TIME),
  createdAt: Timestamp
}).annotations({ identifier: "Delivery", description: "One event on its way to one endpoint." })
export type Delivery = typeof Delivery.Type

export const Attempt = Schema.Struct({
  id: Id("attempt"),
  deliveryId: DeliveryId,
  ordinal: Integer("1 for the first attempt.", 1),
  status: Verdict.AttemptStatus.annotations({
    description: "What came of it."
  }),
  at: Timestamp.annotations({ description: "When it began." }),
  durationMs: Integer("Milliseconds until the answer's head, or the failure.", 42),
  httpStatus: IntegerOrNull("The receiver's HTTP status; null when no usable answer came.", 200),
  failureReason: NullOr(FailureReason, "Why it failed; null when it did not.", null),
  failureDetail: FailureDetail,
  url: Text("Where it was sent.", URL_OF_RECEIVER),
  requestHeaders: Schema.Record({ key: Schema.String, value: Schema.String }).annotations({
    description: "As sent; names in lower case.",
    examples: [
      { "content-type": "application/json", "webhook-id": exampleId("delivery"), "x-trace-id": TRACE_ID }
    ]
  }),
  responseHeaders: Schema.Record({ key: Schema.String, value: Schema.String }).annotations({
    description:
      "Those of `content-type`, `location`, `retry-after`, `server` and `www-authenticate` that the answer had, each at most 256 bytes.",
    examples: [{ "content-type": "text/plain", server: "nginx" }]
  }),
  responseBody: NullOr(
    Schema.String,
    "The first 2 KiB of the answer; null when it could not be read in time.",
    "ok"
  ),
  traceId: TraceId
}).annotations({
  identifier: "Attempt",
  description: "One HTTP request to the receiver. Never changed once recorded."
})
export type Attempt = typeof Attempt.Type

export const DeliveryPage = PageOf("Delivery", Delivery)
export const AttemptPage = PageOf("Attempt", Attempt)
