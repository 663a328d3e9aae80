/** Who is calling, as the caller may know it: the first question of an agent that was handed a token. Source: decision §10. */
import { Unauthorized } from "@posthorn/domain/Errors"
import { permissions, type Scope } from "@posthorn/domain/Permission"
import { CurrentOperator, CurrentPrincipal } from "@posthorn/domain/Principal"
import { ApiTokensRepo } from "@posthorn/persistence/ApiTokensRepo"
import { Effect, Option } from "effect"

const OPERATOR = {
  type: "operator" as const,
  id: "operator",
  name: "operator",
  workspace: null,
  scopes: ["admin"] as ReadonlyArray<Scope>,
  permissions,
  expiresAt: null
}

export class Callers extends Effect.Service<Callers>()("@posthorn/capabilities/Callers", {
  dependencies: [ApiTokensRepo.Default],
  effect: Effect.gen(function* () {
    const tokens = yield* ApiTokensRepo

    const describe = Effect.gen(function* () {
      if (Option.isSome(yield* Effect.serviceOption(CurrentOperator))) return OPERATOR
      const principal = yield* CurrentPrincipal
      const token = yield* tokens.findCaller(principal.workspaceId, principal.actor.id)
      if (token === undefined) return yield* new Unauthorized()
      return {
        type: "api_token" as const,
        ...token,
        scopes: token.scopes as ReadonlyArray<Scope>,
        permissions: permissions.filter((permission) => principal.permissions.has(permission))
      }
    }).pipe(Effect.withSpan("Callers.describe"))

    return { describe } as const
  })
}) {}
