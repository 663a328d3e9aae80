/**
 * The contract: every operation, its shapes, errors, permission, bucket and tool, declared once.
 *
 * The REST routes, the OpenAPI document, the typed client and the MCP tools are all derived from this value.
 * Source: spec §4, §9 and §4.2.
 */
import { HttpApi, OpenApi } from "@effect/platform"
import * as Errors from "@posthorn/domain/Errors"
import { AlertsApi } from "./Alerts.ts"
import { ApiTokensApi } from "./ApiTokens.ts"
import { AuditEventsApi } from "./AuditEvents.ts"
import { CallerApi } from "./Callers.ts"
import { ConsoleLinksApi } from "./ConsoleLinks.ts"
import { ConsoleSessionsApi } from "./ConsoleSessions.ts"
import { DeliveriesApi } from "./Deliveries.ts"
import { DeliveryRequest } from "./DeliveryRequest.ts"
import { EndpointsApi } from "./Endpoints.ts"
import { EventsApi } from "./Events.ts"
import { CatalogueApi } from "./EventTypes.ts"
import { invalidRequest } from "./Gates.ts"
import { MembersApi } from "./Members.ts"
import { NotificationsApi } from "./Notifications.ts"
import { operationalEvents } from "./OperationalEvents.ts"
import { failure } from "./Problem.ts"
import { ReplaysApi } from "./Replays.ts"
import { RoutingApi } from "./Routing.ts"
import { OverviewApi } from "./Statistics.ts"
import { TracesApi } from "./Traces.ts"
import { WorkspaceSettingsApi } from "./WorkspaceSettings.ts"
import { WorkspacesApi } from "./Workspaces.ts"

const DESCRIPTION = `Posthorn delivers a platform's webhooks: signed, retried, evidenced, replayable.

Every call carries an API token of one workspace: \`Authorization: Bearer <token>\`. Lists answer \`{items, nextCursor}\`;
give \`nextCursor\` back as \`cursor\` until it is null; a page may hold fewer items than asked for. Every refusal is a problem (RFC 9457) with a \`_tag\` to switch on
and a \`detail\` that says what to do; its \`type\` leads to its place below. Every answer has an \`x-trace-id\`.

Every POST that changes something takes an \`Idempotency-Key\`, so that it can be sent again safely. Members may be added to answers at any time:
pass over those you do not know.`

export class Api extends HttpApi.make("posthorn")
  .add(WorkspacesApi)
  .add(WorkspaceSettingsApi)
  .add(OverviewApi)
  .add(EndpointsApi)
  .add(DeliveriesApi)
  .add(ReplaysApi)
  .add(TracesApi)
  .add(EventsApi)
  .add(RoutingApi)
  .add(CatalogueApi)
  .add(NotificationsApi)
  .add(AlertsApi)
  .add(MembersApi)
  .add(ApiTokensApi)
  .add(AuditEventsApi)
  .add(CallerApi)
  .add(ConsoleLinksApi)
  .add(ConsoleSessionsApi)
  .addError(invalidRequest)
  .addError(failure(Errors.RequestTimeout))
  .addError(failure(Errors.PayloadTooLarge))
  .addError(failure(Errors.UnsupportedMediaType))
  .addError(failure(Errors.HeadersTooLarge))
  .addError(failure(Errors.InternalError))
  .addError(failure(Errors.ServiceUnavailable))
  .annotate(OpenApi.Title, "Posthorn")
  .annotate(OpenApi.Summary, "Delivers a platform's webhooks: signed, retried, evidenced, replayable.")
  .annotate(OpenApi.Description, DESCRIPTION)
  .annotate(OpenApi.License, {
    name: "Apache-2.0",
    url: "https://www.apache.org/licenses/LICENSE-2.0"
  })
  .annotate(HttpApi.AdditionalSchemas, [DeliveryRequest, ...Object.values(operationalEvents)]) {}
