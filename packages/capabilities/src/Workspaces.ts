/** Workspaces, made by the operator. */
import * as SqlClient from "@effect/sql/SqlClient"
import { newId } from "@posthorn/domain/Ids"
import { CurrentOperator } from "@posthorn/domain/Principal"
import { AuditRepo } from "@posthorn/persistence/AuditRepo"
import { WorkspacesRepo } from "@posthorn/persistence/WorkspacesRepo"
import { Effect } from "effect"
import { transactional } from "./Transaction.ts"

export class Workspaces extends Effect.Service<Workspaces>()("@posthorn/capabilities/Workspaces", {
  dependencies: [AuditRepo.Default, WorkspacesRepo.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* AuditRepo
    const workspaces = yield* WorkspacesRepo

    const create = (request: { readonly slug: string; readonly name: string }) =>
      Effect.gen(function* () {
        const { actor, traceId } = yield* CurrentOperator
        const workspace = yield* workspaces.insert({ id: newId("workspace"), ...request })
        yield* audit.append({
          workspaceId: workspace.id,
          actor,
          traceId,
          action: "workspace.created",
          target: { type: "workspace", id: workspace.id },
          changes: { fields: ["slug", "name"], slug: workspace.slug }
        })
        return workspace
      }).pipe(transactional(sql), Effect.withSpan("Workspaces.create"))

    /** The workspace of a slug, or undefined; for the gate. */
    const findBySlug = workspaces.findBySlug

    return { create, findBySlug } as const
  })
}) {}
