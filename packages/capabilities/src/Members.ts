/** The people of a workspace. Source: spec §2.6 and §4.2. */
import * as SqlClient from "@effect/sql/SqlClient"
import { Forbidden, MemberNotFound } from "@posthorn/domain/Errors"
import { type MemberId, newId } from "@posthorn/domain/Ids"
import { byId, emptyPage } from "@posthorn/domain/Page"
import { firstMissing, permissionsOfRole, type Role } from "@posthorn/domain/Permission"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import { EventsRepo } from "@posthorn/persistence/repositories/EventsRepo"
import { type MemberRow, MembersRepo } from "@posthorn/persistence/repositories/MembersRepo"
import { Effect, Option } from "effect"
import { changedFields, pick, type Sent } from "./Changes.ts"
import { type ListQuery, listPast } from "./Lists.ts"
import { transactional } from "./Transaction.ts"

type NewMember = Omit<MemberRow, "id">

export class Members extends Effect.Service<Members>()("@posthorn/capabilities/Members", {
  dependencies: [AuditEventsRepo.Default, EventsRepo.Default, MembersRepo.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* AuditEventsRepo
    const events = yield* EventsRepo
    const members = yield* MembersRepo

    const list = Effect.fn("Members.list")(function* (query: ListQuery) {
      const { endpointIds, workspaceId } = yield* CurrentPrincipal
      // Members are of no endpoint.
      if (endpointIds !== null) return emptyPage
      return yield* listPast(byId, query, (from, limit) => members.list(workspaceId, limit, from))
    })

    const record = (
      action: "member.added" | "member.removed" | "member.updated",
      id: MemberId,
      fields: ReadonlyArray<string>,
      facts: Readonly<Record<string, unknown>>
    ) =>
      Effect.flatMap(CurrentPrincipal, (principal) =>
        audit.append(principal, action, ["member", id], { fields, ...facts })
      )

    const announce = (type: "member.added" | "member.removed", { id, ...facts }: MemberRow) =>
      Effect.flatMap(CurrentPrincipal, (principal) =>
        events.announce(principal, { type, payload: { memberId: id, ...facts } })
      )

    /** Only a caller with all of a role's permissions may grant, change or remove it. Source: spec §5.2. */
    const mayGive = (...roles: ReadonlyArray<Role>) =>
      Effect.flatMap(CurrentPrincipal, ({ permissions }) =>
        Option.match(
          Option.fromNullable(
            firstMissing(new Set(roles.flatMap((role) => [...permissionsOfRole(role)])), permissions)
          ),
          { onNone: () => Effect.void, onSome: (permission) => Effect.fail(new Forbidden({ permission })) }
        )
      )

    const add = (request: NewMember) =>
      Effect.gen(function* () {
        const { workspaceId } = yield* CurrentPrincipal
        yield* mayGive(request.role)
        const { email, name, role } = request
        const member = { id: newId("member"), email, name, role }
        yield* members.insert(workspaceId, member)
        yield* record("member.added", member.id, ["email", "name", "role"], { to: { role } })
        yield* announce("member.added", member)
        return member
      }).pipe(transactional(sql), Effect.withSpan("Members.add"))

    const update = (memberId: MemberId, sent: Sent<NewMember>) =>
      Effect.gen(function* () {
        const { workspaceId } = yield* CurrentPrincipal
        const present = yield* members.lock(workspaceId, memberId)
        if (present === undefined) return yield* new MemberNotFound()
        const fields = changedFields<NewMember>(present, sent)
        if (fields.length === 0) return present
        const next: MemberRow = Object.assign({ ...present }, pick(sent, fields))
        if (next.role !== present.role) yield* mayGive(present.role, next.role)
        yield* members.update(workspaceId, next)
        yield* record("member.updated", memberId, fields, {
          from: pick(present, fields),
          to: pick(sent, fields)
        })
        return next
      }).pipe(transactional(sql), Effect.withSpan("Members.update"))

    const remove = (memberId: MemberId) =>
      Effect.gen(function* () {
        const { workspaceId } = yield* CurrentPrincipal
        const member = yield* members.remove(workspaceId, memberId)
        if (member === undefined) return yield* new MemberNotFound()
        yield* mayGive(member.role)
        yield* record("member.removed", memberId, [], { from: { role: member.role } })
        yield* announce("member.removed", member)
      }).pipe(transactional(sql), Effect.withSpan("Members.remove"))

    return { add, list, remove, update } as const
  })
}) {}
