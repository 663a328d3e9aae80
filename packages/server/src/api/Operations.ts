/**
 * Every operation of the contract, one file for each group, each operation a line or a few over a capability.
 *
 * REST, the console and MCP call these and no others. It does not compile if an operation has no handler, fails with an
 * undeclared error, answers in another shape, or needs a service that its gate does not provide.
 */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { Layer } from "effect"
import { gatesLive } from "../gate/Gate.ts"
import { alertsLive } from "./Alerts.ts"
import { apiTokensLive } from "./ApiTokens.ts"
import { auditEventsLive } from "./AuditEvents.ts"
import { callerLive } from "./Callers.ts"
import { catalogueLive } from "./Catalogue.ts"
import { consoleLinksLive } from "./ConsoleLinks.ts"
import { consoleSessionsLive } from "./ConsoleSessions.ts"
import { deliveriesLive } from "./Deliveries.ts"
import { endpointsLive } from "./Endpoints.ts"
import { eventsLive } from "./Events.ts"
import { membersLive } from "./Members.ts"
import { notificationsLive } from "./Notifications.ts"
import { overviewLive } from "./Overview.ts"
import { replaysLive } from "./Replays.ts"
import { routingLive } from "./Routing.ts"
import { tracesLive } from "./Traces.ts"
import { workspaceSettingsLive } from "./WorkspaceSettings.ts"
import { workspacesLive } from "./Workspaces.ts"

export const operationsLive = HttpApiBuilder.api(Api).pipe(
  Layer.provide([
    alertsLive,
    apiTokensLive,
    auditEventsLive,
    callerLive,
    catalogueLive,
    consoleLinksLive,
    consoleSessionsLive,
    deliveriesLive,
    endpointsLive,
    eventsLive,
    membersLive,
    notificationsLive,
    overviewLive,
    replaysLive,
    routingLive,
    tracesLive,
    workspaceSettingsLive,
    workspacesLive
  ]),
  Layer.provide(gatesLive)
)
