/** Workspaces, made and removed by the operator. Source: spec §5.1 and §4.2. */
import * as SqlClient from "@effect/sql/SqlClient"
import { WorkspaceNotFound } from "@posthorn/domain/Errors"
import { newId } from "@posthorn/domain/Ids"
import { byId } from "@posthorn/domain/Page"
import { CurrentOperator, CurrentPrincipal, type Operator } from "@posthorn/domain/Principal"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import { type WorkspaceRow, WorkspacesRepo } from "@posthorn/persistence/repositories/WorkspacesRepo"
import { Effect } from "effect"
import { Identities } from "./Identities.ts"
import { type ListQuery, listPast } from "./Lists.ts"
import { transactional } from "./Transaction.ts"

const REMOVED_AT_ONCE = 2000

export class Workspaces extends Effect.Service<Workspaces>()("@posthorn/capabilities/Workspaces", {
  dependencies: [Identities.Default, AuditEventsRepo.Default, WorkspacesRepo.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* AuditEventsRepo
    const identities = yield* Identities
    const workspaces = yield* WorkspacesRepo

    /** Written to the operator's own log, which outlives the workspace. */
    const record = (
      action: "workspace.created" | "workspace.deleted",
      { actor, traceId }: Operator,
      { id, slug }: WorkspaceRow
    ) =>
      audit.appendOperator({
        actor,
        traceId,
        action,
        target: { type: "workspace", id },
        changes: { fields: action === "workspace.created" ? ["slug", "name"] : [], slug }
      })

    const create = (request: { readonly slug: string; readonly name: string }) =>
      Effect.gen(function* () {
        const operator = yield* CurrentOperator
        const { actor, traceId } = operator
        const workspace = yield* workspaces.insert({ id: newId("workspace"), ...request })
        yield* audit.append({
          workspaceId: workspace.id,
          actor,
          traceId,
          action: "workspace.created",
          target: { type: "workspace", id: workspace.id },
          changes: { fields: ["slug", "name"], slug: workspace.slug }
        })
        yield* record("workspace.created", operator, workspace)
        return workspace
      }).pipe(transactional(sql), Effect.withSpan("Workspaces.create"))

    const list = Effect.fn("Workspaces.list")(function* (query: ListQuery) {
      return yield* listPast(byId, query, (from) => workspaces.list(query.limit, from))
    })

    /**
     * Deletes it with everything in it, including its audit log; the operator's log keeps a record of it. Its tokens are
     * invalid from now on. Its history is removed first, in steps: a million deliveries take longer than a request may.
     * Idempotent: if it is interrupted, call it again.
     */
    const remove = Effect.gen(function* () {
      const principal = yield* CurrentPrincipal
      const { workspaceId } = principal
      yield* Effect.repeat(transactional(sql)(workspaces.removeHistory(workspaceId, REMOVED_AT_ONCE)), {
        until: (removed) => removed < REMOVED_AT_ONCE
      })
      yield* Effect.gen(function* () {
        const removed = yield* workspaces.remove(workspaceId)
        if (removed === undefined) return yield* new WorkspaceNotFound()
        yield* record("workspace.deleted", principal, removed)
      }).pipe(transactional(sql))
      yield* identities.forgetAll
    }).pipe(Effect.withSpan("Workspaces.remove"))

    /** The workspace with this slug, or undefined; for the gate. */
    const findBySlug = workspaces.findBySlug

    return { create, findBySlug, list, remove } as const
  })
}) {}
