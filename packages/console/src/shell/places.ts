/** The pages in the navigation, in order, each with the operation that it requires. */
import type { OperationName } from "../api/contract.ts"
import type { IconName } from "../ui/Icon.tsx"

export const places = [
  { label: "Overview", to: "/w/$slug/overview", icon: "overview", needs: "getOverview", key: "o" },
  {
    label: "Endpoints",
    to: "/w/$slug/endpoints",
    icon: "endpoints",
    needs: "listWebhookEndpoints",
    key: "e"
  },
  {
    label: "Deliveries",
    to: "/w/$slug/deliveries",
    icon: "deliveries",
    needs: "listWorkspaceDeliveries",
    key: "d"
  },
  { label: "Events", to: "/w/$slug/events", icon: "events", needs: "listEvents", key: "v" },
  {
    label: "Event types",
    to: "/w/$slug/event-types",
    icon: "eventTypes",
    needs: "listEventTypes",
    key: "y"
  },
  {
    label: "Notifications",
    to: "/w/$slug/notifications",
    icon: "notifications",
    needs: "listNotifications",
    key: "n"
  },
  { label: "Audit log", to: "/w/$slug/audit-log", icon: "audit", needs: "listAuditEvents", key: "a" },
  { label: "Members", to: "/w/$slug/members", icon: "members", needs: "listMembers", key: "m" },
  { label: "API tokens", to: "/w/$slug/api-tokens", icon: "tokens", needs: "listApiTokens", key: "t" },
  { label: "Settings", to: "/w/$slug/settings", icon: "settings", needs: "getWorkspaceSettings", key: "s" },
  { label: "Connect", to: "/w/$slug/connect", icon: "connect", needs: "getCaller", key: "c" }
] as const satisfies ReadonlyArray<{
  label: string
  to: string
  icon: IconName
  needs: OperationName
  key: string
}>
