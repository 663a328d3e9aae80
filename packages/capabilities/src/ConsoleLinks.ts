/**
 * One-time links that open the console: for the caller, a member, a role, or a list of scopes.
 *
 * The caller must have every permission that the link grants. The code is 192 random bits, stored as a hash. Source: spec §11
 * and §5.2.
 */
import { createHash, randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { Forbidden, invalid, MemberNotFound, Unauthorized, WorkspaceNotFound } from "@posthorn/domain/Errors"
import { newId } from "@posthorn/domain/Ids"
import {
  firstMissing,
  type Permission,
  permissionsOf,
  permissionsOfRole,
  type Role,
  type Scope
} from "@posthorn/domain/Permission"
import { CurrentPrincipal, makerOf, type Principal, rootOf } from "@posthorn/domain/Principal"
import { ApiTokensRepo } from "@posthorn/persistence/repositories/ApiTokensRepo"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import { ConsoleRepo, type Grant } from "@posthorn/persistence/repositories/ConsoleRepo"
import { MembersRepo } from "@posthorn/persistence/repositories/MembersRepo"
import { WorkspacesRepo } from "@posthorn/persistence/repositories/WorkspacesRepo"
import { Effect } from "effect"
import { transactional } from "./Transaction.ts"

const LINK_SECONDS = 600
const CODE_BYTES = 24

interface NewConsoleLink {
  readonly memberId?: string | undefined
  readonly role?: Role | undefined
  readonly scopes?: ReadonlyArray<Scope> | undefined
  readonly expiresInSeconds?: number | undefined
}

export const hashOf = (secret: string) => createHash("sha256").update(secret).digest()

/** The link's chain: the caller and the caller's own chain. The link ends with any of them. */
const ownGrant = ({ actor, lineage }: Principal): Grant => ({
  ...lineage,
  memberId: actor.type === "member" ? actor.id : null,
  permissions: null,
  madeBy: makerOf(actor),
  root: rootOf(actor)
})

export class ConsoleLinks extends Effect.Service<ConsoleLinks>()("@posthorn/capabilities/ConsoleLinks", {
  dependencies: [
    ApiTokensRepo.Default,
    AuditEventsRepo.Default,
    ConsoleRepo.Default,
    MembersRepo.Default,
    WorkspacesRepo.Default
  ],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* AuditEventsRepo
    const links = yield* ConsoleRepo
    const members = yield* MembersRepo
    const tokens = yield* ApiTokensRepo
    const workspaces = yield* WorkspacesRepo

    const held = (principal: Principal, granted: ReadonlySet<Permission>) => {
      const permission = firstMissing(granted, principal.permissions)
      return permission === undefined ? Effect.void : Effect.fail(new Forbidden({ permission }))
    }

    const grantOf = (principal: Principal, { memberId, role, scopes }: NewConsoleLink) =>
      Effect.gen(function* () {
        const own = ownGrant(principal)
        if (memberId !== undefined) {
          const member = yield* members.lock(principal.workspaceId, memberId)
          if (member === undefined) return yield* new MemberNotFound()
          yield* held(principal, permissionsOfRole(member.role))
          return { ...own, memberId }
        }
        const granted =
          role !== undefined
            ? permissionsOfRole(role)
            : scopes === undefined
              ? principal.permissions
              : permissionsOf(scopes)
        yield* held(principal, granted)
        return { ...own, permissions: [...granted] }
      })

    const create = (request: NewConsoleLink) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const { memberId, role, scopes, expiresInSeconds = LINK_SECONDS } = request
        const chosen = Object.entries({ memberId, role, scopes }).filter(([, value]) => value !== undefined)
        if (chosen.length > 1) {
          return yield* invalid(`/${chosen[1]![0]}`, "Name a member, a role or scopes: one of them, or none")
        }
        if (!(yield* workspaces.hold(principal.workspaceId))) return yield* new WorkspaceNotFound()
        // The caller has ended since the gate: a link made now would outlive its chain.
        if (!(yield* tokens.isOpen(principal.workspaceId, principal.lineage)))
          return yield* new Unauthorized()
        const grant = yield* grantOf(principal, request)
        const code = randomBytes(CODE_BYTES).toString("base64url")
        const id = newId("consoleLink")
        const expiresAt = yield* links.insertLink(principal.workspaceId, {
          ...grant,
          id,
          codeHash: hashOf(code),
          lifeMs: expiresInSeconds * 1000
        })
        yield* audit.append(principal, "console.link_created", ["console_link", id], {
          fields: [],
          ...Object.fromEntries(chosen),
          expiresAt
        })
        return { code, expiresAt }
      }).pipe(transactional(sql), Effect.withSpan("ConsoleLinks.create"))

    return { create } as const
  })
}) {}
