/** Members: who may use the console. */
import { HttpApiBuilder } from "@effect/platform"
import { Api } from "@posthorn/api-contract/Api"
import { withDefaults } from "@posthorn/api-contract/Shapes"
import { Members } from "@posthorn/capabilities/Members"
import { Effect, Layer } from "effect"
import { IdempotentExecution } from "./IdempotentExecution.ts"

export const membersLive = HttpApiBuilder.group(Api, "members", (handlers) =>
  Effect.gen(function* () {
    const members = yield* Members
    const { idempotent } = yield* IdempotentExecution
    return handlers
      .handle("listMembers", ({ urlParams }) => members.list(withDefaults(urlParams)))
      .handle("addMember", (request) => idempotent("addMember", request, members.add(request.payload)))
      .handle("updateMember", ({ path, payload }) => members.update(path.memberId, payload))
      .handle("removeMember", ({ path }) => members.remove(path.memberId))
  })
).pipe(Layer.provide([Members.Default, IdempotentExecution.Default]))
