/**
 * Hides payloads of Posthorn's own events about members and tokens from callers who may not list those: wherever events and
 * deliveries are read, these payloads are null for them. Source: spec §6.1.
 */
import type { Page } from "@posthorn/domain/Page"
import type { Permission } from "@posthorn/domain/Permission"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { Effect } from "effect"

const LISTS: ReadonlyArray<readonly [prefix: string, Permission]> = [
  ["member.", "member:list"],
  ["api_token.", "token:list"]
]

interface WithPayload {
  readonly eventType: string
  readonly payload: unknown
}

/** The beginnings of the types whose payloads a caller with these permissions may not see. */
export const hiddenFrom = (permissions: ReadonlySet<Permission>): ReadonlyArray<string> =>
  LISTS.filter(([, permission]) => !permissions.has(permission)).map(([prefix]) => prefix)

export const isHidden = (eventType: string, permissions: ReadonlySet<Permission>) =>
  hiddenFrom(permissions).some((prefix) => eventType.startsWith(prefix))

const shownTo =
  (permissions: ReadonlySet<Permission>) =>
  <A extends WithPayload>(row: A): A =>
    isHidden(row.eventType, permissions) ? { ...row, payload: null } : row

export const shown = <A extends WithPayload>(row: A) =>
  Effect.map(CurrentPrincipal, ({ permissions }) => shownTo(permissions)(row))

export const shownPage = <A extends WithPayload>(page: Page<A>) =>
  Effect.map(
    CurrentPrincipal,
    ({ permissions }): Page<A> =>
      hiddenFrom(permissions).length === 0 ? page : { ...page, items: page.items.map(shownTo(permissions)) }
  )
