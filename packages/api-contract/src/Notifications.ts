/** A workspace's notifications. Source: spec §3.1, §4 and §4.5. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "@effect/platform"
import { IdempotencyKeyInUse, IdempotencyKeyReused, NotificationNotFound } from "@posthorn/domain/Errors"
import { NotificationKind } from "@posthorn/domain/States"
import { Schema } from "effect"
import { exampleId } from "./Examples.ts"
import { Id, IdOrNull, NullOr, Text, Timestamp } from "./Fields.ts"
import { WorkspaceGate } from "./Gates.ts"
import { operation } from "./Operation.ts"
import { failure } from "./Problem.ts"
import { IdParam, idempotencyKey, PageOf, pageQuery, Slug, strictRequest } from "./Shapes.ts"

export const Notification = Schema.Struct({
  id: Id("notification"),
  kind: NotificationKind.annotations({
    description:
      "`delivery_dead_lettered`: a delivery has spent its retries. `endpoint_disabled`: an endpoint failed too often in a row."
  }),
  message: Text(
    "What happened and what to do.",
    `Endpoint ${exampleId("endpoint")} stopped receiving: delivery ${exampleId("delivery")} (invoice.paid) was given up after 7 attempts. Fix the receiver, then replay it.`
  ),
  endpointId: IdOrNull("endpoint", "Id of the webhook endpoint."),
  deliveryId: IdOrNull("delivery", "Id of the delivery."),
  readAt: NullOr(Timestamp, "Null until somebody marks it as read.", null),
  createdAt: Timestamp
}).annotations({ identifier: "Notification", description: "Something the workspace should look at." })
export type Notification = typeof Notification.Type

const NotificationPage = PageOf("Notification", Notification)

const listNotifications = HttpApiEndpoint.get("listNotifications", "/workspaces/:slug/notifications")
  .setPath(Schema.Struct({ slug: Slug }))
  .setUrlParams(strictRequest(Schema.Struct(pageQuery)))
  .addSuccess(NotificationPage)
  .annotate(OpenApi.Summary, "List notifications")
  .annotate(OpenApi.Description, "Newest first, read and unread alike.")
  .annotateContext(
    operation({
      permission: "notification:list",
      bucket: "rest_read",
      tool: "list_notifications",
      toolset: "core",
      guidance:
        "To see what was given up or disabled; diagnose_webhook_endpoint with its endpointId says why."
    })
  )

const markNotificationRead = HttpApiEndpoint.post(
  "markNotificationRead",
  "/workspaces/:slug/notifications/:notificationId/read"
)
  .setPath(Schema.Struct({ slug: Slug, notificationId: IdParam("notification") }))
  .setHeaders(Schema.Struct(idempotencyKey))
  .addSuccess(Notification)
  .addError(failure(NotificationNotFound))
  .addError(failure(IdempotencyKeyReused))
  .addError(failure(IdempotencyKeyInUse))
  .annotate(OpenApi.Summary, "Mark a notification as read")
  .annotate(
    OpenApi.Description,
    "Marks it as read for everybody in the workspace. Marking it again keeps the first time."
  )
  .annotateContext(
    operation({
      permission: "notification:update",
      bucket: "rest_write",
      tool: "mark_notification_read",
      toolset: "manage",
      guidance: "When the user has dealt with it.",
      idempotent: true
    })
  )

export class NotificationsApi extends HttpApiGroup.make("notifications")
  .add(listNotifications)
  .add(markNotificationRead)
  .middleware(WorkspaceGate)
  .annotate(OpenApi.Title, "Notifications")
  .annotate(OpenApi.Description, "What a workspace should look at.") {}
