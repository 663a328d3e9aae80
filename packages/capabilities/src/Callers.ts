/** Tells callers who they are: the first call of an agent that was handed a token. Source: spec §5.2. */
import { Unauthorized } from "@posthorn/domain/Errors"
import { permissions, type Scope } from "@posthorn/domain/Permission"
import { CurrentCaller, type Principal } from "@posthorn/domain/Principal"
import { ApiTokensRepo } from "@posthorn/persistence/repositories/ApiTokensRepo"
import { MembersRepo } from "@posthorn/persistence/repositories/MembersRepo"
import { WorkspacesRepo } from "@posthorn/persistence/repositories/WorkspacesRepo"
import { Effect } from "effect"

const operatorNamed = (name: string | null) => ({
  type: "operator" as const,
  id: "operator",
  name: name ?? "operator",
  workspace: null,
  scopes: ["admin"] as ReadonlyArray<Scope>,
  permissions,
  expiresAt: null
})

const held = (principal: Principal) =>
  permissions.filter((permission) => principal.permissions.has(permission))

export class Callers extends Effect.Service<Callers>()("@posthorn/capabilities/Callers", {
  dependencies: [ApiTokensRepo.Default, MembersRepo.Default, WorkspacesRepo.Default],
  effect: Effect.gen(function* () {
    const members = yield* MembersRepo
    const tokens = yield* ApiTokensRepo
    const workspaces = yield* WorkspacesRepo

    /** Through the console: a member, or somebody the operator let in. */
    const describeSession = (principal: Principal) =>
      Effect.gen(function* () {
        const { actor, workspaceId, workspaceSlug: slug } = principal
        const { name } = yield* Effect.mapError(workspaces.get(workspaceId), () => new Unauthorized())
        const member = actor.type === "member" ? yield* members.find(workspaceId, actor.id) : undefined
        const allowed = held(principal)
        return {
          type: actor.type === "member" ? ("member" as const) : ("operator" as const),
          id: actor.id,
          name: member?.name ?? actor.name ?? "operator",
          workspace: { slug, name },
          scopes: allowed as ReadonlyArray<Scope>,
          permissions: allowed,
          expiresAt: null
        }
      })

    const describe = Effect.gen(function* () {
      const principal = yield* CurrentCaller
      if (!("workspaceId" in principal)) return operatorNamed(principal.actor.name)
      if (principal.actor.type !== "api_token") return yield* describeSession(principal)
      const token = yield* tokens.findCaller(principal.workspaceId, principal.actor.id)
      if (token === undefined) return yield* new Unauthorized()
      return {
        type: "api_token" as const,
        ...token,
        permissions: held(principal)
      }
    }).pipe(Effect.withSpan("Callers.describe"))

    return { describe } as const
  })
}) {}
