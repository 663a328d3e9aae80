/** Notifications of a workspace. Source: spec §3.1 and §4. */

import { NotificationNotFound } from "@posthorn/domain/Errors"
import type { NotificationId } from "@posthorn/domain/Ids"
import { byTime } from "@posthorn/domain/Page"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import { NotificationsRepo } from "@posthorn/persistence/repositories/NotificationsRepo"
import { Effect } from "effect"
import { type ListQuery, listPast } from "./Lists.ts"

export class Notifications extends Effect.Service<Notifications>()("@posthorn/capabilities/Notifications", {
  dependencies: [NotificationsRepo.Default],
  effect: Effect.gen(function* () {
    const notifications = yield* NotificationsRepo

    const list = Effect.fn("Notifications.list")(function* (query: ListQuery) {
      const principal = yield* CurrentPrincipal
      return yield* listPast(byTime, query, (from, limit) => notifications.list(principal, limit, from))
    })

    /** Marks it as read for everybody in the workspace; idempotent. */
    const markRead = Effect.fn("Notifications.markRead")(function* (notificationId: NotificationId) {
      const principal = yield* CurrentPrincipal
      const marked = yield* notifications.markRead(principal, notificationId)
      return marked ?? (yield* new NotificationNotFound())
    })

    return { list, markRead } as const
  })
}) {}
