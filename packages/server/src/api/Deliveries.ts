/** Deliveries and their attempts. Payloads are returned as the text that was published. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { Deliveries } from "@posthorn/capabilities/Deliveries"
import { Effect, Layer } from "effect"
import { IdempotentExecution } from "./IdempotentExecution.ts"
import { respond } from "./Responses.ts"

export const deliveriesLive = HttpApiBuilder.group(Api, "deliveries", (handlers) =>
  Effect.gen(function* () {
    const deliveries = yield* Deliveries
    const { idempotent } = yield* IdempotentExecution
    return handlers
      .handle("listWebhookDeliveries", ({ path, urlParams }) =>
        Effect.map(
          deliveries.listByEndpoint(path.endpointId, withDefaults(urlParams)),
          respond("listWebhookDeliveries")
        )
      )
      .handle("listWorkspaceDeliveries", ({ urlParams }) =>
        Effect.map(deliveries.list(withDefaults(urlParams)), respond("listWorkspaceDeliveries"))
      )
      .handle("getWebhookDelivery", ({ path }) =>
        Effect.map(deliveries.get(path.deliveryId), respond("getWebhookDelivery"))
      )
      .handle("listWebhookDeliveryAttempts", ({ path, urlParams }) =>
        Effect.map(
          deliveries.listAttempts(path.deliveryId, withDefaults(urlParams)),
          respond("listWebhookDeliveryAttempts")
        )
      )
      .handle("replayWebhookDelivery", (request) =>
        idempotent("replayWebhookDelivery", request, deliveries.sendAgain("replay", request.path.deliveryId))
      )
      .handle("resendWebhookDelivery", (request) =>
        idempotent("resendWebhookDelivery", request, deliveries.sendAgain("resend", request.path.deliveryId))
      )
  })
).pipe(Layer.provide([Deliveries.Default, IdempotentExecution.Default]))
