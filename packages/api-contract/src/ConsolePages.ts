/**
 * The operations that each page of the console calls. A session with some of the pages has these operations and no others.
 *
 * The console's modules say the same: a test reads which operations each page's modules name. Source: spec §11.1.
 */
import type { ConsolePage } from "@posthorn/domain/ConsoleView"

/** What most pages need for the names and policies of endpoints. */
const endpointNames = ["getWorkspaceSettings", "listWebhookEndpoints"]

const operationsOf: Readonly<Record<ConsolePage, ReadonlyArray<string>>> = {
  overview: [
    ...endpointNames,
    "createWebhookEndpoint",
    "getOverview",
    "listNotifications",
    "markNotificationRead",
    "updateWebhookEndpoint"
  ],
  endpoints: [
    ...endpointNames,
    "cancelReplay",
    "checkAuthentication",
    "createWebhookEndpoint",
    "deleteWebhookEndpoint",
    "diagnoseWebhookEndpoint",
    "explainSignature",
    "getEndpointStats",
    "getEvent",
    "getReplay",
    "getWebhookDelivery",
    "getWebhookEndpoint",
    "listEventTypes",
    "listReplays",
    "listWebhookDeliveries",
    "listWebhookDeliveryAttempts",
    "listWorkspaceDeliveries",
    "publishEvent",
    "replayWebhookDelivery",
    "rotateWebhookSecret",
    "sendTestEvent",
    "startReplay",
    "tryFilter",
    "updateWebhookEndpoint"
  ],
  deliveries: [
    ...endpointNames,
    "getEvent",
    "getWebhookDelivery",
    "getWebhookEndpoint",
    "listWebhookDeliveryAttempts",
    "listWorkspaceDeliveries",
    "replayWebhookDelivery",
    "resendWebhookDelivery"
  ],
  events: [
    ...endpointNames,
    "explainEventRouting",
    "getEvent",
    "listEventTypes",
    "listEvents",
    "listWorkspaceDeliveries",
    "publishEvent",
    "replayWebhookDelivery",
    "resendWebhookDelivery",
    "startReplay",
    "updateWebhookEndpoint"
  ],
  "event-types": [
    ...endpointNames,
    "getWebhookDelivery",
    "getWorkspaceEventType",
    "listEventTypes",
    "publishEvent",
    "sendTestEvent"
  ],
  notifications: [...endpointNames, "listNotifications", "markNotificationRead", "updateWebhookEndpoint"],
  "audit-log": ["listAuditEvents"],
  members: [
    "addMember",
    "createConsoleLink",
    "endConsoleSession",
    "listConsoleSessions",
    "listMembers",
    "removeMember",
    "updateMember"
  ],
  "api-tokens": ["createApiToken", "listApiTokens", "revokeApiToken"],
  connect: ["createApiToken"]
}

/** The pages that call the operation, which is one in a workspace. */
export const pagesWith = (operation: string): ReadonlyArray<ConsolePage> =>
  (Object.keys(operationsOf) as ReadonlyArray<ConsolePage>).filter((page) =>
    operationsOf[page].includes(operation)
  )
