/** Reading the audit log; each capability writes its own entries. Source: spec §6. */
import { decodeCursor, emptyPage, pageOf, TimePosition } from "@posthorn/domain/Page"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { AuditRepo } from "@posthorn/persistence/AuditRepo"
import { Effect, Either } from "effect"
import type { ListQuery } from "./Lists.ts"

export class AuditLog extends Effect.Service<AuditLog>()("@posthorn/capabilities/AuditLog", {
  dependencies: [AuditRepo.Default],
  effect: Effect.gen(function* () {
    const audit = yield* AuditRepo

    const list = Effect.fn("AuditLog.list")(function* (query: ListQuery) {
      const { workspaceId } = yield* CurrentPrincipal
      const from = decodeCursor(TimePosition, query.cursor)
      if (Either.isLeft(from)) return emptyPage
      const rows = yield* audit.list(workspaceId, query.limit, from.right)
      return pageOf(rows, query.limit, (last) => ({ at: last.createdAt, id: last.id }))
    })

    /** What the operator did to workspaces, those that are gone included. */
    const listOperator = Effect.fn("AuditLog.listOperator")(function* (query: ListQuery) {
      const from = decodeCursor(TimePosition, query.cursor)
      if (Either.isLeft(from)) return emptyPage
      const rows = yield* audit.listOperator(query.limit, from.right)
      return pageOf(rows, query.limit, (last) => ({ at: last.createdAt, id: last.id }))
    })

    return { list, listOperator } as const
  })
}) {}
