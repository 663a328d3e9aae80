/**
 * Replay jobs: one call sends again everything that an endpoint did not receive in a time range; a dry run counts it first.
 *
 * A job is a row, which a worker executes step by step. It survives restarts without replaying a source twice, and is no faster
 * than the endpoint. Source: spec §3.1 and §4.6.
 */

import * as SqlClient from "@effect/sql/SqlClient"
import { ReplayNotFound, WebhookEndpointDisabled, WebhookEndpointNotFound } from "@posthorn/domain/Errors"
import type { EndpointId, ReplayId } from "@posthorn/domain/Ids"
import { byTime } from "@posthorn/domain/Page"
import type { Permission } from "@posthorn/domain/Permission"
import { CurrentPrincipal } from "@posthorn/domain/Principal"
import type { ReplayableStatus } from "@posthorn/domain/States"
import { AuditEventsRepo } from "@posthorn/persistence/repositories/AuditEventsRepo"
import { EndpointsRepo } from "@posthorn/persistence/repositories/EndpointsRepo"
import { type ReplayRange, ReplaysRepo } from "@posthorn/persistence/repositories/ReplaysRepo"
import { Effect } from "effect"
import { InstallationPolicy } from "./InstallationPolicy.ts"
import { type ListQuery, listPast } from "./Lists.ts"
import { hiddenFrom } from "./OwnEvents.ts"
import { transactional } from "./Transaction.ts"

interface ReplayRequest {
  readonly statuses: ReadonlyArray<ReplayableStatus>
  readonly since: string
  readonly until?: string | null | undefined
  readonly includeMissed: boolean
  readonly includeUnsent: boolean
  readonly includeRecovered: boolean
  readonly includeTests: boolean
  readonly dryRun: boolean
}

export class Replays extends Effect.Service<Replays>()("@posthorn/capabilities/Replays", {
  dependencies: [AuditEventsRepo.Default, EndpointsRepo.Default, ReplaysRepo.Default],
  effect: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const audit = yield* AuditEventsRepo
    const endpoints = yield* EndpointsRepo
    const replays = yield* ReplaysRepo
    const { historyMs } = yield* InstallationPolicy

    const rangeOf = (endpointId: EndpointId, request: ReplayRequest): ReplayRange => ({
      endpointId,
      statuses: [...new Set(request.statuses)],
      since: request.since,
      until: request.until ?? null,
      includeMissed: request.includeMissed,
      includeUnsent: request.includeUnsent,
      includeRecovered: request.includeRecovered,
      includeTests: request.includeTests
    })

    /** What the caller may not see is not sent to where it says. */
    const limitsFor = (permissions: ReadonlySet<Permission>) => ({
      keptMs: historyMs,
      hidden: hiddenFrom(permissions)
    })

    /** Only counts; nothing is stored, and the endpoint may be disabled. */
    const count = (endpointId: EndpointId, request: ReplayRequest) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const { permissions, workspaceId } = principal
        const endpoint = yield* endpoints.find(principal, endpointId)
        if (endpoint === undefined) return yield* new WebhookEndpointNotFound()
        return yield* replays.count(workspaceId, rangeOf(endpointId, request), limitsFor(permissions))
      })

    const begin = (endpointId: EndpointId, request: ReplayRequest) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const { workspaceId } = principal
        const endpoint = yield* endpoints.lock(principal, endpointId)
        if (endpoint === undefined) return yield* new WebhookEndpointNotFound()
        if (!endpoint.enabled) return yield* new WebhookEndpointDisabled({ endpointId })
        const range = rangeOf(endpointId, request)
        const replay = yield* replays.start(workspaceId, range, limitsFor(principal.permissions), principal)
        yield* audit.append(principal, "webhook.replay_started", ["replay", replay.id], {
          fields: [],
          ...range,
          matched: replay.matched,
          missed: replay.missed,
          unsent: replay.unsent
        })
        return replay
      }).pipe(transactional(sql))

    const start = (endpointId: EndpointId, request: ReplayRequest) =>
      Effect.withSpan(
        request.dryRun ? count(endpointId, request) : begin(endpointId, request),
        "Replays.start"
      )

    const list = Effect.fn("Replays.list")(function* (query: ListQuery) {
      const principal = yield* CurrentPrincipal
      return yield* listPast(byTime, query, (from, limit) => replays.list(principal, limit, from))
    })

    const get = Effect.fn("Replays.get")(function* (replayId: ReplayId) {
      const principal = yield* CurrentPrincipal
      return (yield* replays.find(principal, replayId)) ?? (yield* new ReplayNotFound())
    })

    /** Cancels it; the replays made so far stay. A job that has ended is not changed. */
    const cancel = (replayId: ReplayId) =>
      Effect.gen(function* () {
        const principal = yield* CurrentPrincipal
        const cancelled = yield* replays.cancel(principal, replayId)
        if (cancelled === undefined) return yield* get(replayId)
        yield* audit.append(principal, "webhook.replay_cancelled", ["replay", replayId], {
          fields: [],
          replayed: cancelled.replayed,
          matched: cancelled.matched
        })
        return cancelled
      }).pipe(transactional(sql), Effect.withSpan("Replays.cancel"))

    return { cancel, get, list, start } as const
  })
}) {}
