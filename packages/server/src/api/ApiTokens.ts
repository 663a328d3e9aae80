/** API tokens. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { ApiTokens } from "@posthorn/capabilities/ApiTokens"
import { Effect, Layer } from "effect"
import { IdempotentExecution } from "./IdempotentExecution.ts"

export const apiTokensLive = HttpApiBuilder.group(Api, "apiTokens", (handlers) =>
  Effect.gen(function* () {
    const tokens = yield* ApiTokens
    const { idempotent } = yield* IdempotentExecution
    return handlers
      .handle("createApiToken", (request) =>
        idempotent("createApiToken", request, tokens.create(request.payload))
      )
      .handle("listApiTokens", ({ urlParams }) => tokens.list(withDefaults(urlParams)))
      .handle("revokeApiToken", ({ path, urlParams }) => tokens.revoke(path.tokenId, urlParams.descendants))
  })
).pipe(Layer.provide([ApiTokens.Default, IdempotentExecution.Default]))
