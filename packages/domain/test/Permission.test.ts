/** The permissions, bundles and roles of spec §5.1 and §11, written out, so that every change of them shows here. */
import { assert, describe, it } from "@effect/vitest"
import { firstMissing, permissions, permissionsOf, permissionsOfRole } from "@posthorn/domain/Permission"

const ofWebhooks = ["read", "list", "create", "update", "delete", "rotate_secret", "replay", "test"]
const all = [
  ...ofWebhooks.map((what) => `webhook:${what}`),
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
]
const look = ["workspace:read", "notification:list", "member:list", "webhook:read"]

const sorted = (set: Iterable<string>) => [...set].sort()

describe("permissions", () => {
  it("§5.1 are these, in this order", () => {
    assert.deepStrictEqual([...permissions], all)
  })

  it("§5 §5.1 each is a scope, and nothing else is", () => {
    for (const permission of permissions) {
      const expected = permission === "webhook:list" ? ["webhook:list", "webhook:read"] : [permission]
      assert.deepStrictEqual(sorted(permissionsOf([permission])), expected)
    }
    assert.deepStrictEqual(sorted(permissionsOf(["operator", "any", "*", "", "webhook"])), [])
  })

  it("§5.1 bundles and roles contain these permissions", () => {
    const developer = [
      ...look,
      ...all.filter((permission) => permission.startsWith("webhook:")),
      "event:publish"
    ]
    assert.deepStrictEqual(sorted(permissionsOf(["read"])), sorted(look))
    assert.deepStrictEqual(sorted(permissionsOf(["admin"])), sorted(all))
    assert.deepStrictEqual(sorted(permissionsOfRole("viewer")), sorted([...look, "webhook:list"]))
    assert.deepStrictEqual(sorted(permissionsOfRole("developer")), sorted(new Set(developer)))
    assert.deepStrictEqual(sorted(permissionsOfRole("admin")), sorted(all))
  })

  it("§5.1 the first missing one is reported, in this order", () => {
    const held = permissionsOf(["read"])
    assert.strictEqual(firstMissing(permissionsOf(["admin"]), held), "webhook:list")
    assert.strictEqual(firstMissing(permissionsOf(["console:link", "token:list"]), held), "token:list")
    assert.isUndefined(firstMissing(held, permissionsOf(["admin"])))
  })
})
