/** Workspaces, made and removed by the operator. Source: decision §3 and §4. */
import * as SqlClient from "@effect/sql/SqlClient"
import { WorkspaceNotFound } from "@posthorn/domain/Errors"
import { newId } from "@posthorn/domain/Ids"
import { decodeCursor, emptyPage, IdPosition, pageOf } from "@posthorn/domain/Page"
import { CurrentOperator, CurrentPrincipal } from "@posthorn/domain/Principal"
import { AuditRepo } from "@posthorn/persistence/AuditRepo"
import { WorkspacesRepo } from "@posthorn/persistence/WorkspacesRepo"
import { Effect, Either } from "effect"
import { ApiTokens } from "./ApiTokens.ts"
import type { ListQuery } from "./Lists.ts"
import { transactional } from "./Transaction.ts"

const REMOVED_AT_ONCE = 2000

export class Workspaces extends Effect.Service<Workspaces>()("@posthorn/capabilities/Workspaces", {
  dependencies: [ApiTokens.Default, AuditRepo.Default, WorkspacesRepo.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* AuditRepo
    const tokens = yield* ApiTokens
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

    const list = Effect.fn("Workspaces.list")(function* (query: ListQuery) {
      const from = decodeCursor(IdPosition, query.cursor)
      if (Either.isLeft(from)) return emptyPage
      const rows = yield* workspaces.list(query.limit, from.right)
      return pageOf(rows, query.limit, ({ id }) => ({ id }))
    })

    /**
     * With everything in it, the audit log included; its tokens open nothing from now on. Its history goes in steps
     * first: a million deliveries take longer than a request may. Stopped in between, it is asked for again.
     */
    const remove = Effect.gen(function* () {
      const { workspaceId } = yield* CurrentPrincipal
      yield* Effect.repeat(transactional(sql)(workspaces.removeHistory(workspaceId, REMOVED_AT_ONCE)), {
        until: (removed) => removed < REMOVED_AT_ONCE
      })
      if (!(yield* transactional(sql)(workspaces.remove(workspaceId)))) return yield* new WorkspaceNotFound()
      yield* tokens.forgetAll
    }).pipe(Effect.withSpan("Workspaces.remove"))

    /** The workspace of a slug, or undefined; for the gate. */
    const findBySlug = workspaces.findBySlug

    return { create, findBySlug, list, remove } as const
  })
}) {}
