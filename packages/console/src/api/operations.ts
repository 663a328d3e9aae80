/** Written by bin/operations.ts from the contract: run `npm run generate`. */
export const operations = {
  createWorkspace: ["POST", "/workspaces", "operator", ""],
  listWorkspaces: ["GET", "/workspaces", "operator", ""],
  listFleet: ["GET", "/fleet", "operator", ""],
  updateWorkspace: ["PATCH", "/workspaces/:slug", "operator", ""],
  deleteWorkspace: ["DELETE", "/workspaces/:slug", "operator", ""],
  getWorkspaceSettings: [
    "GET",
    "/workspaces/:slug/settings",
    "workspace:read",
    "overview endpoints deliveries events event-types notifications"
  ],
  updateWorkspaceSettings: ["PATCH", "/workspaces/:slug/settings", "workspace:update", ""],
  getOverview: ["GET", "/workspaces/:slug/overview", "workspace:read", "overview"],
  createWebhookEndpoint: ["POST", "/workspaces/:slug/webhooks", "webhook:create", "overview endpoints"],
  listWebhookEndpoints: [
    "GET",
    "/workspaces/:slug/webhooks",
    "webhook:read",
    "overview endpoints deliveries events event-types notifications"
  ],
  getWebhookEndpoint: [
    "GET",
    "/workspaces/:slug/webhooks/:endpointId",
    "webhook:read",
    "endpoints deliveries"
  ],
  updateWebhookEndpoint: [
    "PATCH",
    "/workspaces/:slug/webhooks/:endpointId",
    "webhook:update",
    "overview endpoints events notifications"
  ],
  deleteWebhookEndpoint: ["DELETE", "/workspaces/:slug/webhooks/:endpointId", "webhook:delete", "endpoints"],
  getEndpointStats: ["GET", "/workspaces/:slug/webhooks/:endpointId/stats", "webhook:read", "endpoints"],
  diagnoseWebhookEndpoint: [
    "GET",
    "/workspaces/:slug/webhooks/:endpointId/diagnosis",
    "webhook:list",
    "endpoints"
  ],
  rotateWebhookSecret: [
    "POST",
    "/workspaces/:slug/webhooks/:endpointId/rotate-secret",
    "webhook:rotate_secret",
    "endpoints"
  ],
  checkAuthentication: [
    "POST",
    "/workspaces/:slug/webhooks/:endpointId/check-authentication",
    "webhook:test",
    "endpoints"
  ],
  sendTestEvent: [
    "POST",
    "/workspaces/:slug/webhooks/:endpointId/test-event",
    "webhook:test",
    "endpoints event-types"
  ],
  explainSignature: [
    "POST",
    "/workspaces/:slug/webhooks/:endpointId/explain-signature",
    "webhook:test",
    "endpoints"
  ],
  listWebhookDeliveries: [
    "GET",
    "/workspaces/:slug/webhooks/:endpointId/deliveries",
    "webhook:read",
    "endpoints"
  ],
  listWorkspaceDeliveries: [
    "GET",
    "/workspaces/:slug/webhooks/deliveries",
    "webhook:read",
    "endpoints deliveries events"
  ],
  getWebhookDelivery: [
    "GET",
    "/workspaces/:slug/webhooks/deliveries/:deliveryId",
    "webhook:read",
    "endpoints deliveries event-types"
  ],
  listWebhookDeliveryAttempts: [
    "GET",
    "/workspaces/:slug/webhooks/deliveries/:deliveryId/attempts",
    "webhook:list",
    "endpoints deliveries"
  ],
  replayWebhookDelivery: [
    "POST",
    "/workspaces/:slug/webhooks/deliveries/:deliveryId/replay",
    "webhook:replay",
    "endpoints deliveries events"
  ],
  resendWebhookDelivery: [
    "POST",
    "/workspaces/:slug/webhooks/deliveries/:deliveryId/resend",
    "webhook:replay",
    "deliveries events"
  ],
  startReplay: [
    "POST",
    "/workspaces/:slug/webhooks/:endpointId/replays",
    "webhook:replay",
    "endpoints events"
  ],
  listReplays: ["GET", "/workspaces/:slug/webhooks/replays", "webhook:read", "endpoints"],
  getReplay: ["GET", "/workspaces/:slug/webhooks/replays/:replayId", "webhook:read", "endpoints"],
  cancelReplay: ["DELETE", "/workspaces/:slug/webhooks/replays/:replayId", "webhook:replay", "endpoints"],
  getTrace: ["GET", "/workspaces/:slug/trace/:traceId", "webhook:list", ""],
  publishEvent: ["POST", "/workspaces/:slug/events", "event:publish", "endpoints events event-types"],
  publishEvents: ["POST", "/workspaces/:slug/events/batch", "event:publish", ""],
  listEvents: ["GET", "/workspaces/:slug/events", "webhook:read", "events"],
  getEvent: ["GET", "/workspaces/:slug/events/:eventId", "webhook:read", "endpoints deliveries events"],
  listEventTypes: ["GET", "/workspaces/:slug/event-types", "webhook:read", "endpoints events event-types"],
  purgeEvent: ["POST", "/workspaces/:slug/events/:eventId/purge", "operator", ""],
  explainEventRouting: ["GET", "/workspaces/:slug/events/:eventId/routing", "webhook:list", "events"],
  tryFilter: ["POST", "/workspaces/:slug/webhooks/try-filter", "webhook:list", "endpoints"],
  putEventType: ["PUT", "/event-types/:eventType", "operator", ""],
  getEventType: ["GET", "/event-types/:eventType", "operator", ""],
  deleteEventType: ["DELETE", "/event-types/:eventType", "operator", ""],
  listCatalogue: ["GET", "/event-types", "operator", ""],
  draftEventTypeSchema: ["GET", "/event-types/:eventType/draft-schema", "operator", ""],
  checkEventTypeSchema: ["POST", "/event-types/:eventType/check-schema", "operator", ""],
  getWorkspaceEventType: ["GET", "/workspaces/:slug/event-types/:eventType", "webhook:read", "event-types"],
  getEventTypeDocument: ["GET", "/workspaces/:slug/event-type-document", "webhook:read", ""],
  listNotifications: [
    "GET",
    "/workspaces/:slug/notifications",
    "notification:list",
    "overview notifications"
  ],
  markNotificationRead: [
    "POST",
    "/workspaces/:slug/notifications/:notificationId/read",
    "notification:update",
    "overview notifications"
  ],
  listAlerts: ["GET", "/workspaces/:slug/alerts", "workspace:read", ""],
  listMembers: ["GET", "/workspaces/:slug/members", "member:list", "members"],
  addMember: ["POST", "/workspaces/:slug/members", "member:manage", "members"],
  updateMember: ["PATCH", "/workspaces/:slug/members/:memberId", "member:manage", "members"],
  removeMember: ["DELETE", "/workspaces/:slug/members/:memberId", "member:manage", "members"],
  createApiToken: ["POST", "/workspaces/:slug/api-tokens", "token:create", "api-tokens connect"],
  listApiTokens: ["GET", "/workspaces/:slug/api-tokens", "token:list", "api-tokens"],
  revokeApiToken: ["DELETE", "/workspaces/:slug/api-tokens/:tokenId", "token:revoke", "api-tokens"],
  listAuditEvents: ["GET", "/workspaces/:slug/audit-events", "audit:list", "audit-log"],
  listOperatorAuditEvents: ["GET", "/audit-events", "operator", ""],
  getCaller: ["GET", "/caller", "any", ""],
  createConsoleLink: ["POST", "/workspaces/:slug/console-links", "console:link", "members"],
  listConsoleSessions: ["GET", "/workspaces/:slug/console-sessions", "member:list", "members"],
  endConsoleSession: ["DELETE", "/workspaces/:slug/console-sessions/:sessionId", "any", "members"]
} as const
