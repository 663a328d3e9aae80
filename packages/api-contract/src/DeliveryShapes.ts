/** What a delivery and an attempt look like. Source: spec §2.2 and §2.3, decision §4. */
import * as States from "@posthorn/domain/States"
import * as Verdict from "@posthorn/domain/Verdict"
import { Schema } from "effect"
import { Integer, JsonValue, PageOf, Timestamp } from "./Wire.ts"

export const DeliveryStatus = States.DeliveryStatus.annotations({
  identifier: "DeliveryStatus",
  description:
    "`failed` will be tried again; `failed_permanent` was refused by the receiver or has a bad URL; `dead_lettered` has spent its retries.",
  message: () => "Expected pending, delivered, failed, failed_permanent or dead_lettered"
})

export const FailureReason = Verdict.FailureReason.annotations({ identifier: "FailureReason" })

const HttpStatus = Integer("The receiver's HTTP status; null when no usable answer came.")

export const Delivery = Schema.Struct({
  id: Schema.String.annotations({
    description: "Also the `webhook-id` header; the same on every retry, new on a replay."
  }),
  endpointId: Schema.String,
  eventId: Schema.NullOr(Schema.String).annotations({ description: "Null for a test send." }),
  eventType: Schema.String,
  status: DeliveryStatus,
  attempts: Integer("Attempts recorded so far; at most 7."),
  nextAttemptAt: Schema.NullOr(Timestamp),
  payload: JsonValue,
  replayedFrom: Schema.NullOr(Schema.String).annotations({
    description: "The delivery this one repeats; kept when that one is gone."
  }),
  lastHttpStatus: Schema.NullOr(HttpStatus),
  lastFailureReason: Schema.NullOr(FailureReason),
  lastDurationMs: Schema.NullOr(Integer("Milliseconds the last attempt took.")),
  lastAttemptAt: Schema.NullOr(Timestamp),
  createdAt: Timestamp
}).annotations({ identifier: "Delivery", description: "One event on its way to one endpoint." })
export type Delivery = typeof Delivery.Type

export const Attempt = Schema.Struct({
  id: Schema.String,
  deliveryId: Schema.String,
  ordinal: Integer("1 for the first attempt."),
  status: Verdict.AttemptStatus,
  at: Timestamp.annotations({ description: "When it began." }),
  durationMs: Integer("Milliseconds until the answer's head, or the failure."),
  httpStatus: Schema.NullOr(HttpStatus),
  failureReason: Schema.NullOr(FailureReason),
  url: Schema.String.annotations({ description: "Where it was sent." }),
  requestHeaders: Schema.Record({ key: Schema.String, value: Schema.String }).annotations({
    description: "As sent; names in lower case."
  }),
  responseHeaders: Schema.Record({ key: Schema.String, value: Schema.String }).annotations({
    description:
      "Of `content-type`, `location`, `retry-after`, `server` and `www-authenticate` those that came, each at most 256 bytes."
  }),
  responseBody: Schema.NullOr(Schema.String).annotations({
    description: "The first 2 KiB of the answer; null when it could not be read in time."
  }),
  traceId: Schema.String
}).annotations({
  identifier: "Attempt",
  description: "One HTTP request to the receiver. Never changed once recorded."
})
export type Attempt = typeof Attempt.Type

export const DeliveryPage = PageOf("Delivery", Delivery)
export const AttemptPage = PageOf("Attempt", Attempt)
