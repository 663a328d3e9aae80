/** What each scope allows, in words. A scope without words does not compile. */
import type { Scope } from "@posthorn/domain/Permission"

export const scopeWords: Record<Scope, string> = {
  read: "Overview, endpoints, deliveries, notifications and members. Not attempts.",
  admin: "Everything, now and later.",
  "event:publish": "Publish events.",
  "webhook:read": "See endpoints, deliveries and their figures.",
  "webhook:list": "Also see attempts: request headers and what receivers answered.",
  "webhook:create": "Register endpoints.",
  "webhook:update": "Change endpoints, enable and disable them.",
  "webhook:delete": "Delete endpoints with their history.",
  "webhook:rotate_secret": "Replace a signing secret and see the new one.",
  "webhook:replay": "Send deliveries again.",
  "webhook:test": "Send test events, and check signatures.",
  "member:list": "See members.",
  "member:manage": "Add, change and remove members, within their own rights.",
  "token:list": "See tokens, never their text.",
  "token:create": "Make tokens with no more rights than their own.",
  "token:revoke": "Revoke tokens.",
  "audit:list": "See the audit log.",
  "notification:list": "See notifications.",
  "notification:update": "Mark notifications as read.",
  "workspace:read": "See the overview.",
  "workspace:update": "Change the workspace's settings.",
  "console:link": "Make links that open this console."
}
