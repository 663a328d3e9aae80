/** Deliveries and their attempts. Payloads are returned as the text that was published. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { filled } from "@posthorn/api-contract/Wire"
import { Deliveries } from "@posthorn/capabilities/Deliveries"
import { Effect, Layer } from "effect"
import { wire } from "./Answer.ts"
import { IdempotentExecution } from "./IdempotentExecution.ts"

export const deliveriesLive = HttpApiBuilder.group(Api, "deliveries", (handlers) =>
  Effect.gen(function* () {
    const deliveries = yield* Deliveries
    const { once } = yield* IdempotentExecution
    return handlers
      .handle("listWebhookDeliveries", ({ path, urlParams }) =>
        Effect.map(
          deliveries.listByEndpoint(path.endpointId, filled(urlParams)),
          wire("listWebhookDeliveries")
        )
      )
      .handle("listWorkspaceDeliveries", ({ urlParams }) =>
        Effect.map(deliveries.list(filled(urlParams)), wire("listWorkspaceDeliveries"))
      )
      .handle("getWebhookDelivery", ({ path }) =>
        Effect.map(deliveries.get(path.deliveryId), wire("getWebhookDelivery"))
      )
      .handle("listWebhookDeliveryAttempts", ({ path, urlParams }) =>
        Effect.map(
          deliveries.listAttempts(path.deliveryId, filled(urlParams)),
          wire("listWebhookDeliveryAttempts")
        )
      )
      .handle("replayWebhookDelivery", (request) =>
        once("replayWebhookDelivery", request, deliveries.sendAgain("replay", request.path.deliveryId))
      )
      .handle("resendWebhookDelivery", (request) =>
        once("resendWebhookDelivery", request, deliveries.sendAgain("resend", request.path.deliveryId))
      )
  })
).pipe(Layer.provide([Deliveries.Default, IdempotentExecution.Default]))
