/** The history that the database kept of a run (ChangeLog.ts), as facts for the laws. */
import { type DeliveryPolicy, inForce, type PolicyInForce } from "@posthorn/domain/DeliveryPolicy"
import { disablingReason } from "@posthorn/domain/Verdict"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { decodeSecret } from "@posthorn/signature"
import { ENCRYPTION_KEY } from "@posthorn/testkit/Command"
import { Redacted } from "effect"
import type { Endpoint, Fact, RateChange, Secret } from "../simulation/Facts.ts"
import { REQUEST_TIMEOUT_MS, RETRY_DELAY_MS } from "./Processes.ts"

type Row = Readonly<Record<string, unknown>>

/** A row of `chaos.log`; times in milliseconds. */
export interface Logged {
  readonly xid: string
  readonly commit: number
  readonly at: number
  readonly kind:
    | "published"
    | "dead_lettered"
    | "attempt"
    | "endpoint"
    | "event"
    | "record"
    | "removed"
    | "replay"
    | "missed"
    | "audit"
  readonly old: Row | null
  readonly new: Row | null
}

export const LOGGED = `
  select xid::text, kind, old, new, extract(epoch from at)::float8 * 1000 as at,
    extract(epoch from pg_xact_commit_timestamp(xid))::float8 * 1000 as commit
  from chaos.log order by commit, n`

export interface History {
  readonly facts: ReadonlyArray<Fact>
  readonly secrets: ReadonlyArray<Pick<Secret, "endpointId" | "key">>
  readonly endpoints: ReadonlyMap<string, Pick<Endpoint, "enabled" | "deleted">>
  /** For each endpoint, in order: its policies, and from when each held. */
  readonly policies: ReadonlyMap<string, ReadonlyArray<Held>>
  /** The policy of an endpoint that has never had one. */
  readonly none: PolicyInForce
  /** The rates that endpoints have had, in order. */
  readonly rates: ReadonlyArray<RateChange>
  /** The moments at which something changed that requests of the endpoint depend on. */
  readonly endpointChanges: ReadonlyArray<{ readonly endpointId: string; readonly at: number }>
}

export interface Held {
  readonly from: number
  readonly policy: PolicyInForce
}

const box = SecretBox.make([Redacted.make(Buffer.from(ENCRYPTION_KEY, "base64"))])

/** `secret` is a bytea in JSON: `\x` and hex digits. */
const keyOf = (endpoint: Row): Buffer => {
  const where = { workspaceId: endpoint.workspace_id as string, endpointId: endpoint.id as string }
  const sealed = Buffer.from((endpoint.secret as string).slice(2), "hex")
  return decodeSecret(Redacted.value(SecretBox.openOrThrow(box, where, sealed)))
}

/** The order of a fact among the others; see `attemptsOf`. */
interface Placed {
  readonly place: number
  readonly fact: Fact
}

/** Changes of an endpoint by somebody's order; changes by its failures are in the facts of the attempts. */
const ordersOf = (row: Logged, byFailures: boolean): ReadonlyArray<Fact> => {
  const { commit: at, new: now, old } = row
  const endpointId = (now ?? old!).id as string
  if (old === null) return []
  if (now === null) return [{ kind: "deleted", at, endpointId }]
  const orders: Array<Fact> = []
  if (now.secret !== old.secret) orders.push({ kind: "rotated", at, endpointId })
  if (now.enabled && !old.enabled) orders.push({ kind: "enabled", at, endpointId })
  if (!now.enabled && old.enabled && !byFailures) orders.push({ kind: "disabled", at, endpointId })
  return orders
}

const isEqual = (one: unknown, other: unknown) =>
  JSON.stringify(one ?? null) === JSON.stringify(other ?? null)

interface Call {
  readonly attempt_ids: ReadonlyArray<string>
  readonly endpoints: ReadonlyArray<string>
  readonly generations: ReadonlyArray<number>
  readonly arrivals: ReadonlyArray<number>
  readonly retry_afters: ReadonlyArray<number | null>
}

/** Whether a failure disables its endpoint by its streak; no run is long enough for `failing_for`. */
const disablesBy = ({ disableAfter, onGone }: PolicyInForce, failures: number, httpStatus: unknown) =>
  disablingReason(httpStatus === 410 && onGone === "disable" ? { kind: "gone" } : disableAfter, {
    failures,
    failingMs: 0
  }) !== null

/**
 * The attempts that one call of `posthorn.record` stored, in the order of arrival, each with the resulting streak. The last
 * one that counted has the streak that the call left in the endpoint's row. An endpoint that stays healthy is neither locked
 * nor written; its facts are dated at the beginning of the call, because the call saw it then. A failure locks the endpoint
 * and is judged by the row at that moment: if the endpoint was enabled meanwhile, nothing is written, and the fact is dated
 * at the commit, after the enabling.
 */
const attemptsOf = (
  rows: ReadonlyArray<Logged>,
  generationOf: (id: string) => number,
  policyOf: (id: string) => PolicyInForce
): ReadonlyArray<Placed> => {
  const call = rows.find(({ kind }) => kind === "record")!
  const { arrivals, attempt_ids, endpoints, generations, retry_afters } = call.new as unknown as Call
  const stored = new Map(
    rows.filter(({ kind }) => kind === "attempt").map((row) => [row.new!.id as string, row.new!])
  )
  const order = attempt_ids.map((_, n) => n).sort((a, b) => arrivals[a]! - arrivals[b]!)
  const placed: Array<Placed> = []
  for (const endpointId of new Set(endpoints)) {
    const update = rows.find(({ kind, new: now }) => kind === "endpoint" && now?.id === endpointId)
    const policy = policyOf(endpointId)
    const generation = update === undefined ? generationOf(endpointId) : (update.old!.generation as number)
    const ours = order.filter((n) => endpoints[n] === endpointId && stored.has(attempt_ids[n]!))
    const counts = (n: number) =>
      generations[n] === generation &&
      (update !== undefined || stored.get(attempt_ids[n]!)!.status === "delivered")
    const last = ours.filter(counts).at(-1)
    const place = update === undefined && ours.every(counts) ? call.at : call.commit
    let streak = update === undefined ? 0 : (update.old!.consecutive_failures as number)
    let on = update === undefined || (update.old!.enabled as boolean)
    for (const n of ours) {
      const attempt = stored.get(attempt_ids[n]!)!
      const observed = {
        deliveryId: attempt.delivery_id,
        endpointId,
        generation: generations[n],
        ordinal: attempt.ordinal,
        attemptId: attempt.id,
        status: attempt.status,
        at: Date.parse(attempt.at as string),
        durationMs: attempt.duration_ms,
        httpStatus: attempt.http_status,
        failureReason: attempt.failure_reason,
        responseHeaders: attempt.response_headers,
        waitMs: retry_afters[n]
      } as unknown as Observed
      if (counts(n)) streak = attempt.status === "delivered" ? 0 : streak + 1
      if (n === last && update !== undefined) streak = update.new!.consecutive_failures as number
      const goesOff = on && update !== undefined && !update.new!.enabled
      const disables = counts(n) && goesOff && (n === last || disablesBy(policy, streak, attempt.http_status))
      if (disables) on = false
      const fact = {
        kind: "recorded",
        at: call.at,
        observed,
        policy,
        streak: counts(n) ? streak : null,
        disables
      } as const
      placed.push({ place, fact })
    }
  }
  return placed
}

/** `workspacePolicy` holds from the beginning to the end. */
export const readHistory = (
  log: ReadonlyArray<Logged>,
  workspacePolicy: DeliveryPolicy | null = null
): History => {
  const resolved = (own: DeliveryPolicy | null) =>
    inForce(own, workspacePolicy, { retryDelayMs: RETRY_DELAY_MS, requestTimeoutMs: REQUEST_TIMEOUT_MS })
  const none = resolved(null)
  const policies = new Map<string, Array<Held>>()
  const endpointChanges: Array<{ endpointId: string; at: number }> = []
  const rates: Array<RateChange> = []
  const transactions = new Map<string, Array<Logged>>()
  for (const row of log) transactions.set(row.xid, [...(transactions.get(row.xid) ?? []), row])
  const placed: Array<Placed> = []
  const secrets: Array<Pick<Secret, "endpointId" | "key">> = []
  const endpoints = new Map<string, Pick<Endpoint, "enabled" | "deleted">>()
  const generations = new Map<string, number>()
  for (const rows of transactions.values()) {
    const isRecord = rows.some(({ kind }) => kind === "record")
    if (isRecord)
      placed.push(
        ...attemptsOf(
          rows,
          (id) => generations.get(id) ?? 0,
          (id) => policies.get(id)?.at(-1)?.policy ?? none
        )
      )
    for (const row of rows) {
      const { commit: at, new: now, old } = row
      if (row.kind === "published")
        placed.push({
          place: at,
          fact: {
            kind: "published",
            at,
            deliveryId: now!.id as string,
            endpointId: now!.endpoint_id as string
          }
        })
      else if (row.kind === "dead_lettered")
        placed.push({ place: at, fact: { kind: "dead_lettered", at, deliveryId: now!.id as string } })
      else if (row.kind === "endpoint") {
        const id = (now ?? old!).id as string
        if (now !== null && now.secret !== old?.secret) secrets.push({ endpointId: id, key: keyOf(now) })
        if (now !== null && !isEqual(now.policy, old?.policy)) {
          const policy = resolved((now.policy ?? null) as DeliveryPolicy | null)
          policies.set(id, [...(policies.get(id) ?? []), { from: at, policy }])
        }
        const limit = policies.get(id)?.at(-1)?.policy.rateLimit ?? none.rateLimit
        if (now !== null && !isEqual(limit, rates.findLast((one) => one.endpointId === id)?.limit))
          // An endpoint that is made has it from the beginning.
          rates.push({ endpointId: id, at: old === null ? 0 : at, limit })
        if (now !== null && old !== null && (now.url !== old.url || !isEqual(now.policy, old.policy)))
          endpointChanges.push({ endpointId: id, at })
        generations.set(id, ((now ?? old!).generation as number) ?? 0)
        endpoints.set(id, { enabled: now !== null && (now.enabled as boolean), deleted: now === null })
        for (const fact of ordersOf(row, isRecord)) placed.push({ place: at, fact })
      }
    }
  }
  const facts = placed.toSorted((a, b) => a.place - b.place).map(({ fact }) => fact)
  return { facts, secrets, endpoints, policies, none, rates, endpointChanges }
}
