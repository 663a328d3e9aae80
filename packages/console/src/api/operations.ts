/** Written by bin/operations.ts from the contract: run `npm run generate`. */
export const operations = {
  createWorkspace: ["POST", "/workspaces", "operator"],
  listWorkspaces: ["GET", "/workspaces", "operator"],
  listFleet: ["GET", "/fleet", "operator"],
  updateWorkspace: ["PATCH", "/workspaces/:slug", "operator"],
  deleteWorkspace: ["DELETE", "/workspaces/:slug", "operator"],
  getWorkspaceSettings: ["GET", "/workspaces/:slug/settings", "workspace:read"],
  updateWorkspaceSettings: ["PATCH", "/workspaces/:slug/settings", "workspace:update"],
  getOverview: ["GET", "/workspaces/:slug/overview", "workspace:read"],
  createWebhookEndpoint: ["POST", "/workspaces/:slug/webhooks", "webhook:create"],
  listWebhookEndpoints: ["GET", "/workspaces/:slug/webhooks", "webhook:read"],
  getWebhookEndpoint: ["GET", "/workspaces/:slug/webhooks/:endpointId", "webhook:read"],
  updateWebhookEndpoint: ["PATCH", "/workspaces/:slug/webhooks/:endpointId", "webhook:update"],
  deleteWebhookEndpoint: ["DELETE", "/workspaces/:slug/webhooks/:endpointId", "webhook:delete"],
  getEndpointStats: ["GET", "/workspaces/:slug/webhooks/:endpointId/stats", "webhook:read"],
  diagnoseWebhookEndpoint: ["GET", "/workspaces/:slug/webhooks/:endpointId/diagnosis", "webhook:list"],
  rotateWebhookSecret: [
    "POST",
    "/workspaces/:slug/webhooks/:endpointId/rotate-secret",
    "webhook:rotate_secret"
  ],
  checkAuthentication: [
    "POST",
    "/workspaces/:slug/webhooks/:endpointId/check-authentication",
    "webhook:test"
  ],
  sendTestEvent: ["POST", "/workspaces/:slug/webhooks/:endpointId/test-event", "webhook:test"],
  explainSignature: ["POST", "/workspaces/:slug/webhooks/:endpointId/explain-signature", "webhook:test"],
  listWebhookDeliveries: ["GET", "/workspaces/:slug/webhooks/:endpointId/deliveries", "webhook:read"],
  listWorkspaceDeliveries: ["GET", "/workspaces/:slug/webhooks/deliveries", "webhook:read"],
  getWebhookDelivery: ["GET", "/workspaces/:slug/webhooks/deliveries/:deliveryId", "webhook:read"],
  listWebhookDeliveryAttempts: [
    "GET",
    "/workspaces/:slug/webhooks/deliveries/:deliveryId/attempts",
    "webhook:list"
  ],
  replayWebhookDelivery: [
    "POST",
    "/workspaces/:slug/webhooks/deliveries/:deliveryId/replay",
    "webhook:replay"
  ],
  resendWebhookDelivery: [
    "POST",
    "/workspaces/:slug/webhooks/deliveries/:deliveryId/resend",
    "webhook:replay"
  ],
  startReplay: ["POST", "/workspaces/:slug/webhooks/:endpointId/replays", "webhook:replay"],
  listReplays: ["GET", "/workspaces/:slug/webhooks/replays", "webhook:read"],
  getReplay: ["GET", "/workspaces/:slug/webhooks/replays/:replayId", "webhook:read"],
  cancelReplay: ["DELETE", "/workspaces/:slug/webhooks/replays/:replayId", "webhook:replay"],
  getTrace: ["GET", "/workspaces/:slug/trace/:traceId", "webhook:list"],
  publishEvent: ["POST", "/workspaces/:slug/events", "event:publish"],
  publishEvents: ["POST", "/workspaces/:slug/events/batch", "event:publish"],
  listEvents: ["GET", "/workspaces/:slug/events", "webhook:read"],
  getEvent: ["GET", "/workspaces/:slug/events/:eventId", "webhook:read"],
  listEventTypes: ["GET", "/workspaces/:slug/event-types", "webhook:read"],
  purgeEvent: ["POST", "/workspaces/:slug/events/:eventId/purge", "operator"],
  putEventType: ["PUT", "/event-types/:eventType", "operator"],
  getEventType: ["GET", "/event-types/:eventType", "operator"],
  deleteEventType: ["DELETE", "/event-types/:eventType", "operator"],
  listCatalogue: ["GET", "/event-types", "operator"],
  getWorkspaceEventType: ["GET", "/workspaces/:slug/event-types/:eventType", "webhook:read"],
  getEventTypeDocument: ["GET", "/workspaces/:slug/event-type-document", "webhook:read"],
  listNotifications: ["GET", "/workspaces/:slug/notifications", "notification:list"],
  markNotificationRead: [
    "POST",
    "/workspaces/:slug/notifications/:notificationId/read",
    "notification:update"
  ],
  listMembers: ["GET", "/workspaces/:slug/members", "member:list"],
  addMember: ["POST", "/workspaces/:slug/members", "member:manage"],
  updateMember: ["PATCH", "/workspaces/:slug/members/:memberId", "member:manage"],
  removeMember: ["DELETE", "/workspaces/:slug/members/:memberId", "member:manage"],
  createApiToken: ["POST", "/workspaces/:slug/api-tokens", "token:create"],
  listApiTokens: ["GET", "/workspaces/:slug/api-tokens", "token:list"],
  revokeApiToken: ["DELETE", "/workspaces/:slug/api-tokens/:tokenId", "token:revoke"],
  listAuditEvents: ["GET", "/workspaces/:slug/audit-events", "audit:list"],
  listOperatorAuditEvents: ["GET", "/audit-events", "operator"],
  getCaller: ["GET", "/caller", "any"],
  createConsoleLink: ["POST", "/workspaces/:slug/console-links", "console:link"],
  listConsoleSessions: ["GET", "/workspaces/:slug/console-sessions", "member:list"],
  endConsoleSession: ["DELETE", "/workspaces/:slug/console-sessions/:sessionId", "any"]
} as const
