/** A workspace's notifications. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { Notifications } from "@posthorn/capabilities/Notifications"
import { Effect, Layer } from "effect"
import { IdempotentExecution } from "./IdempotentExecution.ts"

export const notificationsLive = HttpApiBuilder.group(Api, "notifications", (handlers) =>
  Effect.gen(function* () {
    const notifications = yield* Notifications
    const { idempotent } = yield* IdempotentExecution
    return handlers
      .handle("listNotifications", ({ urlParams }) => notifications.list(withDefaults(urlParams)))
      .handle("markNotificationRead", (request) =>
        idempotent("markNotificationRead", request, notifications.markRead(request.path.notificationId))
      )
  })
).pipe(Layer.provide([Notifications.Default, IdempotentExecution.Default]))
