/** Reading the audit log; each capability writes its own entries. Source: spec §6. */
import { byTime } from "@posthorn/domain/Page"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { AuditEventsRepo, type AuditFilter } from "@posthorn/persistence/repositories/AuditEventsRepo"
import { Effect } from "effect"
import { boundedPast, type ListQuery } from "./Lists.ts"

interface AuditQuery extends ListQuery, AuditFilter {}

export class AuditEvents extends Effect.Service<AuditEvents>()("@posthorn/capabilities/AuditEvents", {
  dependencies: [AuditEventsRepo.Default],
  effect: Effect.gen(function* () {
    const audit = yield* AuditEventsRepo

    const list = Effect.fn("AuditEvents.list")(function* (query: AuditQuery) {
      const principal = yield* CurrentPrincipal
      return yield* boundedPast(byTime, query, (from, limit) => audit.list(principal, query, limit, from))
    })

    /** The operator's acts on workspaces, including deleted ones. */
    const listOperator = Effect.fn("AuditEvents.listOperator")(function* (query: AuditQuery) {
      return yield* boundedPast(byTime, query, (from, limit) => audit.listOperator(query, limit, from))
    })

    return { list, listOperator } as const
  })
}) {}
