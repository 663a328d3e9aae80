/** Workspaces: made, listed and deleted by the operator. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { filled } from "@posthorn/api-contract/Wire"
import { Workspaces } from "@posthorn/capabilities/Workspaces"
import { Effect, Layer } from "effect"
import { IdempotentExecution } from "./IdempotentExecution.ts"

export const workspacesLive = HttpApiBuilder.group(Api, "workspaces", (handlers) =>
  Effect.gen(function* () {
    const workspaces = yield* Workspaces
    const { onceForOperator } = yield* IdempotentExecution
    return handlers
      .handle("createWorkspace", (request) =>
        onceForOperator("createWorkspace", request, workspaces.create(request.payload))
      )
      .handle("listWorkspaces", ({ urlParams }) => workspaces.list(filled(urlParams)))
      .handle("listFleet", ({ urlParams }) => workspaces.listFleet(filled(urlParams)))
      .handle("updateWorkspace", ({ payload }) => workspaces.update(payload))
      .handle("deleteWorkspace", () => workspaces.remove)
  })
).pipe(Layer.provide([Workspaces.Default, IdempotentExecution.Default]))
