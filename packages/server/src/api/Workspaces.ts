/** Workspaces: made, listed and deleted by the operator. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { Workspaces } from "@posthorn/capabilities/Workspaces"
import { Effect, Layer } from "effect"
import { IdempotentExecution } from "./IdempotentExecution.ts"

export const workspacesLive = HttpApiBuilder.group(Api, "workspaces", (handlers) =>
  Effect.gen(function* () {
    const workspaces = yield* Workspaces
    const { idempotentForOperator } = yield* IdempotentExecution
    return handlers
      .handle("createWorkspace", (request) =>
        idempotentForOperator("createWorkspace", request, workspaces.create(request.payload))
      )
      .handle("listWorkspaces", ({ urlParams }) => workspaces.list(withDefaults(urlParams)))
      .handle("listFleet", ({ urlParams }) => workspaces.listFleet(withDefaults(urlParams)))
      .handle("updateWorkspace", ({ payload }) => workspaces.update(payload))
      .handle("deleteWorkspace", () => workspaces.remove)
  })
).pipe(Layer.provide([Workspaces.Default, IdempotentExecution.Default]))
