/** API tokens. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { filled } from "@posthorn/api-contract/Wire"
import { ApiTokens } from "@posthorn/capabilities/ApiTokens"
import { Effect, Layer } from "effect"
import { IdempotentExecution } from "./IdempotentExecution.ts"

export const apiTokensLive = HttpApiBuilder.group(Api, "apiTokens", (handlers) =>
  Effect.gen(function* () {
    const tokens = yield* ApiTokens
    const { once } = yield* IdempotentExecution
    return handlers
      .handle("createApiToken", (request) => once("createApiToken", request, tokens.create(request.payload)))
      .handle("listApiTokens", ({ urlParams }) => tokens.list(filled(urlParams)))
      .handle("revokeApiToken", ({ path, urlParams }) => tokens.revoke(path.tokenId, urlParams.descendants))
  })
).pipe(Layer.provide([ApiTokens.Default, IdempotentExecution.Default]))
