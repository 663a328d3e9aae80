/**
 * Permissions, and the bundles and member roles that stand for several of them.
 *
 * `webhook:list` implies `webhook:read`. The bundle `read` is deliberately not `webhook:list`: attempts show request
 * headers and response bodies. Source: spec §5, §5.1 and §11.
 */
import { Schema } from "effect"

export const permissions = [
  "webhook:read",
  "webhook:list",
  "webhook:create",
  "webhook:update",
  "webhook:delete",
  "webhook:rotate_secret",
  "webhook:replay",
  "webhook:test",
  "event:publish",
  "member:list",
  "member:manage",
  "token:list",
  "token:create",
  "token:revoke",
  "audit:list",
  "notification:list",
  "notification:update",
  "workspace:read",
  "workspace:update",
  "console:link"
] as const

export type Permission = (typeof permissions)[number]

/** What an operation requires: a permission, the operator's token, or just any valid token. */
export type Requirement = Permission | "operator" | "any"

export const Scope = Schema.Literal(...permissions, "read", "admin").annotations({
  identifier: "Scope",
  description: "A permission, or a bundle: `read` (look, but not at attempts) or `admin` (everything)."
})
export type Scope = typeof Scope.Type

export const bundles: Record<"read" | "admin", ReadonlyArray<Permission>> = {
  read: ["workspace:read", "notification:list", "member:list", "webhook:read"],
  admin: permissions
}

export const Role = Schema.Literal("viewer", "developer", "admin").annotations({
  identifier: "Role",
  description: "What a member may do in the console."
})
export type Role = typeof Role.Type

/** The permissions that scopes grant, including implied ones. */
export const permissionsOf = (scopes: ReadonlyArray<string>): ReadonlySet<Permission> => {
  const granted = new Set<Permission>()
  for (const scope of scopes) {
    if (scope === "read" || scope === "admin")
      for (const permission of bundles[scope]) granted.add(permission)
    else if ((permissions as ReadonlyArray<string>).includes(scope)) granted.add(scope as Permission)
  }
  if (granted.has("webhook:list")) granted.add("webhook:read")
  return granted
}

/** The scopes of a member's role. Source: spec §11. */
const roleScopes: Record<Role, ReadonlyArray<string>> = {
  viewer: ["read", "webhook:list"],
  developer: [
    "read",
    ...permissions.filter((permission) => permission.startsWith("webhook:")),
    "event:publish"
  ],
  admin: ["admin"]
}

/** The permissions of a member with this role. */
export const permissionsOfRole = (role: Role): ReadonlySet<Permission> => permissionsOf(roleScopes[role])

/** What reaches beyond an endpoint. */
const beyondEndpoints: ReadonlySet<Permission> = new Set([
  "webhook:create",
  "event:publish",
  "member:manage",
  "token:create",
  "token:revoke",
  "workspace:update",
  "console:link"
])

/** Of these permissions, those of a caller that is limited to some endpoints. Source: spec §11.1. */
export const withinEndpoints = (held: ReadonlySet<Permission>): ReadonlySet<Permission> =>
  new Set([...held].filter((permission) => !beyondEndpoints.has(permission)))

/** The first permission, in the order of the list above, that is wanted but missing. */
export const firstMissing = (
  wanted: ReadonlySet<Permission>,
  held: ReadonlySet<Permission>
): Permission | undefined => permissions.find((permission) => wanted.has(permission) && !held.has(permission))
