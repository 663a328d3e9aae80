/** Workspaces, made and removed by the operator. Source: spec §5.1 and §4.2. */
import * as SqlClient from "@effect/sql/SqlClient"
import { WorkspaceNotFound } from "@posthorn/domain/Errors"
import { newId } from "@posthorn/domain/Ids"
import { byId, byWaiting } from "@posthorn/domain/Page"
import { CurrentOperator, CurrentPrincipal, type Operator } from "@posthorn/domain/Principal"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import { FleetRepo } from "@posthorn/persistence/repositories/FleetRepo"
import {
  type WorkspaceLimits,
  type WorkspaceRow,
  WorkspacesRepo
} from "@posthorn/persistence/repositories/WorkspacesRepo"
import { Effect } from "effect"
import { changedFields, pick, type Sent } from "./Changes.ts"
import { Identities } from "./Identities.ts"
import { type ListQuery, listPast } from "./Lists.ts"
import { transactional } from "./Transaction.ts"

const REMOVED_AT_ONCE = 2000

/** After so many failures in a row an enabled endpoint counts as failing. */
const FAILING_STREAK = 3

interface WorkspaceChanges {
  readonly name?: string | undefined
  readonly limits?: Sent<WorkspaceLimits> | undefined
}

const given = (limits: Sent<WorkspaceLimits>) =>
  Object.fromEntries(
    Object.entries(limits).filter(([, limit]) => limit !== undefined)
  ) as Partial<WorkspaceLimits>

export class Workspaces extends Effect.Service<Workspaces>()("@posthorn/capabilities/Workspaces", {
  dependencies: [Identities.Default, AuditEventsRepo.Default, FleetRepo.Default, WorkspacesRepo.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* AuditEventsRepo
    const fleet = yield* FleetRepo
    const identities = yield* Identities
    const workspaces = yield* WorkspacesRepo

    /** Written to the operator's own log, which outlives the workspace. */
    const record = (
      action: "workspace.created" | "workspace.updated" | "workspace.deleted",
      operator: Operator,
      { id, slug }: Pick<WorkspaceRow, "id" | "slug">,
      changes: Readonly<Record<string, unknown>> & { readonly fields: ReadonlyArray<string> }
    ) => audit.appendOperator(operator, action, ["workspace", id], { ...changes, slug })

    const create = (request: { readonly slug: string; readonly name: string }) =>
      Effect.gen(function* () {
        const operator = yield* CurrentOperator
        const workspace = yield* workspaces.insert({ id: newId("workspace"), ...request })
        const by = { ...operator, workspaceId: workspace.id }
        yield* audit.append(by, "workspace.created", ["workspace", workspace.id], {
          fields: ["slug", "name"],
          slug: workspace.slug
        })
        yield* record("workspace.created", operator, workspace, { fields: ["slug", "name"] })
        return workspace
      }).pipe(transactional(sql), Effect.withSpan("Workspaces.create"))

    const list = Effect.fn("Workspaces.list")(function* (query: ListQuery) {
      return yield* listPast(byId, query, (from, limit) => workspaces.list(limit, from))
    })

    /** Those with the most waiting deliveries first. */
    const listFleet = Effect.fn("Workspaces.listFleet")(function* (query: ListQuery) {
      return yield* listPast(byWaiting, query, (from, limit) => fleet.list(FAILING_STREAK, limit, from))
    })

    const update = (sent: WorkspaceChanges) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const { workspaceId } = principal
        const present = yield* workspaces.hold(workspaceId)
        if (present === undefined) return yield* new WorkspaceNotFound()
        const limits = { ...present.limits, ...given(sent.limits ?? {}) }
        const fields = changedFields<Pick<WorkspaceRow, "limits" | "name">>(present, {
          name: sent.name,
          limits
        })
        if (fields.length === 0) return present
        const next = { ...present, name: sent.name ?? present.name, limits }
        yield* workspaces.update(workspaceId, next)
        const changes = {
          fields,
          from: pick<WorkspaceRow>(present, fields),
          to: pick<WorkspaceRow>(next, fields)
        }
        yield* audit.append(principal, "workspace.updated", ["workspace", workspaceId], changes)
        yield* record("workspace.updated", principal, present, changes)
        return next
      }).pipe(transactional(sql), Effect.withSpan("Workspaces.update"))

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
        const removed = yield* workspaces.remove(workspaceId, principal.traceId)
        if (removed === undefined) return yield* new WorkspaceNotFound()
        yield* record("workspace.deleted", principal, removed, { fields: [] })
      }).pipe(transactional(sql))
      yield* identities.forgetAll
    }).pipe(Effect.withSpan("Workspaces.remove"))

    const findBySlug = workspaces.findBySlug

    return { create, findBySlug, list, listFleet, remove, update } as const
  })
}) {}
