/**
 * One-time links that open the console: for the caller, a member, a role, or a list of scopes.
 *
 * The caller must have every permission that the link grants. The code is 192 random bits, stored as a hash. A link may show
 * less than its permissions allow, in a frame of another page, and in other colours: `domain/ConsoleView`.
 * Source: spec §11, §11.1 and §5.2.
 */
import { createHash, randomBytes } from "node:crypto"
import * as SqlClient from "@effect/sql/SqlClient"
import { type ConsoleView, isShown } from "@posthorn/domain/ConsoleView"
import {
  Forbidden,
  invalid,
  MemberNotFound,
  Unauthorized,
  WebhookEndpointNotFound,
  WorkspaceNotFound
} from "@posthorn/domain/Errors"
import { newId } from "@posthorn/domain/Ids"
import {
  firstMissing,
  type Permission,
  permissionsOf,
  permissionsOfRole,
  type Role,
  type Scope,
  withinEndpoints
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

type Chosen = { readonly [K in keyof ConsoleView]?: ConsoleView[K] | undefined }

interface NewConsoleLink extends Chosen {
  readonly memberId?: string | undefined
  readonly role?: Role | undefined
  readonly scopes?: ReadonlyArray<Scope> | undefined
  readonly expiresInSeconds?: number | undefined
}

export const hashOf = (secret: string) => createHash("sha256").update(secret).digest()

/** The link's chain: the caller and the caller's own chain. The link ends with any of them. */
const ownGrant = ({ actor, lineage }: Principal, view: ConsoleView): Grant => ({
  ...lineage,
  memberId: actor.type === "member" ? actor.id : null,
  permissions: null,
  madeBy: makerOf(actor),
  root: rootOf(actor),
  view
})

/** `ownPages` are those of the caller's session, which it can only give on. */
const viewOf = (
  { embedIn, endpointIds, pages, theme, to }: NewConsoleLink,
  ownPages: ConsoleView["pages"]
): ConsoleView => ({
  embedIn: embedIn ?? null,
  pages: pages ?? ownPages,
  endpointIds: endpointIds ?? null,
  theme: theme ?? null,
  to: to ?? null
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

    /** The grant, and the permissions that it comes to now. */
    const grantOf = (principal: Principal, request: NewConsoleLink) =>
      Effect.gen(function* () {
        const { memberId, pages, role, scopes } = request
        const { sessionId } = principal.lineage
        const session = sessionId === null ? undefined : yield* links.find(principal.workspaceId, sessionId)
        const ownPages = session?.view.pages ?? null
        if (ownPages !== null && pages?.every((page) => ownPages.includes(page)) === false)
          return yield* invalid("/pages", "Expected pages that this session has")
        const grant = ownGrant(principal, viewOf(request, ownPages))
        const member = memberId === undefined ? null : yield* members.lock(principal.workspaceId, memberId)
        if (member === undefined) return yield* new MemberNotFound()
        const whole =
          member !== null
            ? permissionsOfRole(member.role)
            : role !== undefined
              ? permissionsOfRole(role)
              : scopes === undefined
                ? principal.permissions
                : permissionsOf(scopes)
        const granted = grant.view.endpointIds === null ? whole : withinEndpoints(whole)
        yield* held(principal, granted)
        return {
          granted,
          grant: memberId === undefined ? { ...grant, permissions: [...granted] } : { ...grant, memberId }
        }
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
        const { grant, granted } = yield* grantOf(principal, request)
        const { endpointIds, to } = grant.view
        if (endpointIds !== null && !(yield* links.haveEndpoints(principal.workspaceId, endpointIds)))
          return yield* new WebhookEndpointNotFound()
        if (to !== null && !isShown(grant.view, granted, to))
          return yield* invalid(
            "/to",
            "Expected a page, or a path below the workspace, that the link may see"
          )
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
          ...Object.fromEntries(Object.entries(grant.view).filter(([, value]) => value !== null)),
          expiresAt
        })
        return { code, embedIn: grant.view.embedIn, expiresAt }
      }).pipe(transactional(sql), Effect.withSpan("ConsoleLinks.create"))

    return { create } as const
  })
}) {}
