/**
 * The database from the engine's view, in memory: the rules of migrations/0002 to 0004, written a second time and as plainly
 * as possible, and a history of everything that was committed, for the laws.
 *
 * Each operation happens at one instant; `World.ts` adds delays and faults.
 */
import { type DeliveryPolicy, inForce, type PolicyInForce } from "@posthorn/domain/DeliveryPolicy"
import { disablingReason, isUncounted } from "@posthorn/domain/Verdict"
import { type DatabaseMicros, databaseMicros, earliest } from "@posthorn/persistence/engine/DatabaseMicros"
import type {
  Claim,
  ClaimOutcome,
  Content,
  Cursor,
  Due,
  DueRow,
  EndpointFirsts,
  LaneRef,
  RateLimited,
  Refill,
  Starts,
  VersionedPolicy
} from "@posthorn/persistence/engine/Queue"
import type { Disabled, Observed, Recorded } from "@posthorn/persistence/engine/Records"
import type { TriedLocks } from "@posthorn/persistence/engine/SleepLocks"
import type { Delivery, Endpoint, Fact, RateChange } from "./Facts.ts"
import { OUTLIVES_ITS_LEASE_MS, ShardTable } from "./ShardTable.ts"

export class Model {
  /** Transactions that have published and may still commit, by shard; and the shards whose worker sleeps. */
  readonly open = new Map<string, number>()
  readonly sleeping = new Map<number, object>()
  readonly endpoints = new Map<string, Endpoint>()
  readonly deliveries = new Map<string, Delivery>()
  readonly queue = new Map<string, DueRow>()
  readonly deadLetters = new Set<string>()
  readonly notified: Array<string> = []
  readonly facts: Array<Fact> = []
  readonly rates: Array<RateChange> = []
  /** When attempts under a rate began: of each endpoint, by their ids. */
  private readonly begins = new Map<string, Map<string, number>>()
  /** Attempts on record. */
  private readonly stored = new Set<string>()
  /** Since when each queue row is unchanged, in microseconds. */
  private readonly since = new Map<string, number>()
  readonly shards = new ShardTable(() => this.micros)
  readonly now: () => number
  private readonly retryDelayMs: () => number

  constructor(now: () => number, retryDelayMs: () => number) {
    this.now = now
    this.retryDelayMs = retryDelayMs
  }

  private get micros(): DatabaseMicros {
    return databaseMicros(this.now() * 1000)
  }

  /** Whether something can still be delivered. */
  get unfinished(): boolean {
    const waiting = [...this.queue.values()].some(({ endpointId }) => this.endpoints.get(endpointId)!.enabled)
    return waiting || this.deadLetters.size > 0
  }

  /** `moment` is when the publisher read its clock; the commit is now. */
  publish(endpointId: string, deliveryId: string, moment: number, test = false): boolean {
    const endpoint = this.endpoints.get(endpointId)
    if (endpoint === undefined || endpoint.deleted || !endpoint.enabled) return false
    const { shard, workspaceId } = endpoint
    this.deliveries.set(deliveryId, {
      id: deliveryId,
      endpointId,
      status: "pending",
      attempts: 0,
      nextAttemptAt: moment,
      lastStatus: null
    })
    this.queue.set(deliveryId, {
      workspaceId,
      deliveryId,
      endpointId,
      shard,
      due: databaseMicros(moment * 1000),
      attempts: 0,
      claims: 0,
      atOnce: test
    })
    this.since.set(deliveryId, this.micros)
    this.facts.push({ kind: "published", at: this.now(), deliveryId, endpointId, test })
    return true
  }

  /** Clears the shard's doubt, unless a row that was due by then still waits. */
  clearDoubt(shard: number, owner: object): boolean {
    return this.shards.clearDoubt(shard, owner, (until) =>
      [...this.queue.values()].some((row) => row.shard === shard && row.due <= until)
    )
  }

  /** Whether the shard's worker sleeps, and must be notified. */
  begin(transaction: string, shard: number): boolean {
    if (this.sleeping.has(shard)) return true
    this.open.set(transaction, shard)
    return false
  }

  sleep(worker: object, shards: ReadonlyArray<number>): TriedLocks {
    const open = new Set(this.open.values())
    const others = shards.filter((shard) => (this.sleeping.get(shard) ?? worker) !== worker)
    const taken = shards.filter((shard) => !open.has(shard) && !others.includes(shard))
    for (const shard of taken) this.sleeping.set(shard, worker)
    return { taken, others }
  }

  wakeUp(worker: object): void {
    for (const [shard, sleeper] of this.sleeping) if (sleeper === worker) this.sleeping.delete(shard)
  }

  private isUsable({ endpointId }: DueRow): boolean {
    return this.endpoints.get(endpointId)!.enabled
  }

  private dueRows(): Array<DueRow> {
    return [...this.queue.values()]
      .filter((row) => row.due <= this.micros)
      .sort((a, b) => a.due - b.due || (a.deliveryId < b.deliveryId ? -1 : 1))
  }

  due(marks: ReadonlyArray<Cursor>, skip: ReadonlyArray<string>, perShard: number, scanLimit: number): Due {
    const all = this.dueRows()
    const rows: Array<DueRow> = []
    const stopped: Array<Cursor> = []
    for (const { deliveryId, due, shard } of marks) {
      const scanned = all
        .filter((row) => row.shard === shard)
        .filter((row) => row.due > due || (row.due === due && row.deliveryId > deliveryId))
        .slice(0, scanLimit)
      rows.push(...scanned.filter((row) => row.atOnce || !skip.includes(row.endpointId)).slice(0, perShard))
      if (skip.length > 0 && scanned.length === scanLimit) stopped.push(scanned.at(-1)!)
    }
    const open = [...this.open]
      .filter(([, shard]) => marks.some((mark) => mark.shard === shard))
      .map(([transaction, shard]) => ({ transaction, shard }))
    return { horizon: this.micros, open, rows, stopped }
  }

  firstOfEndpoints(after: LaneRef | null, most: number): EndpointFirsts {
    const keyOf = ({ endpointId, workspaceId }: LaneRef) => `${workspaceId} ${endpointId}`
    const firsts = new Map<string, DueRow>()
    const all = [...this.queue.values()].sort(
      (a, b) => a.due - b.due || (a.deliveryId < b.deliveryId ? -1 : 1)
    )
    for (const row of all) if (!firsts.has(keyOf(row))) firsts.set(keyOf(row), row)
    const found = [...firsts]
      .filter(([key]) => after === null || key > keyOf(after))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, most)
      .map(([, row]) => row)
    return {
      rows: found.filter((row) => row.due <= this.micros && this.isUsable(row)),
      next: found.length < most ? null : found.at(-1)!
    }
  }

  nextDue(shards: ReadonlyArray<number>): DatabaseMicros | null {
    const dues = [...this.queue.values()].filter((row) => shards.includes(row.shard) && row.due > this.micros)
    return dues.length === 0 ? null : earliest(...dues.map((row) => row.due))
  }

  dueOfEndpoints(refills: ReadonlyArray<Refill>): ReadonlyArray<DueRow> {
    const rows = this.dueRows()
    return refills.flatMap(({ deliveryId, due, endpointId, wanted }) =>
      rows
        .filter((row) => row.endpointId === endpointId && this.isUsable(row))
        .filter((row) => row.due > due || (row.due === due && row.deliveryId >= deliveryId))
        .slice(0, wanted)
    )
  }

  load(rows: ReadonlyArray<DueRow>): ReadonlyArray<Content | null> {
    return rows.map((row) => {
      const delivery = this.deliveries.get(row.deliveryId)
      const isOpen = delivery?.status === "pending" || delivery?.status === "failed"
      if (!isOpen || delivery.attempts !== row.attempts || delivery.endpointId !== row.endpointId) return null
      const endpoint = this.endpoints.get(row.endpointId)!
      const previous =
        endpoint.previous !== null && endpoint.previous.until > this.now() ? endpoint.previous.secret : null
      return {
        eventType: "invoice.paid",
        payload: "{}",
        traceId: "0af7651916cd43dd8448eb211c80319c",
        isTest: false,
        retry: true,
        createdAt: null,
        endpoint: {
          url: endpoint.url,
          enabled: endpoint.enabled,
          generation: endpoint.generation,
          secret: endpoint.secret,
          previousSecret: previous,
          policy: endpoint.policy,
          slug: "acme",
          request: null,
          requestSecrets: null
        },
        failures: endpoint.streak
      }
    })
  }

  startsSince(rated: ReadonlyArray<RateLimited>): ReadonlyArray<Starts> {
    return rated.map(({ endpointId, mostUnrecorded, perSeconds, requests }) => {
      const begins = this.beginsOf(endpointId)
      const after = (moment: number) => [...begins.values()].filter((at) => at > moment - perSeconds * 1_000)
      const { shard } = this.endpoints.get(endpointId)!
      this.shards.began(shard)
      const until = this.shards.stoppedAt(shard)
      if (until !== null) {
        const stopped = until / 1_000
        const due = [...this.queue.values()].filter(
          (row) => row.endpointId === endpointId && row.due <= stopped * 1_000
        )
        const recorded = after(stopped).filter((at) => at <= stopped)
        const most = Math.min(due.length, mostUnrecorded, requests - recorded.length)
        for (let n = 1; n <= most; n++) begins.set(`unrecorded ${until} ${n}`, stopped)
      }
      const times = after(this.now() - 2_000)
        .sort((a, b) => b - a)
        .slice(0, requests)
      const age = (at: number) => this.now() - at
      return { agesMs: times.map((at) => (age(at) < -OUTLIVES_ITS_LEASE_MS ? 0 : age(at))) }
    })
  }

  private beginsOf(endpointId: string): Map<string, number> {
    const begins = this.begins.get(endpointId) ?? new Map<string, number>()
    this.begins.set(endpointId, begins)
    return begins
  }

  countClaims(
    claims: ReadonlyArray<Claim>,
    limit: number,
    sending: boolean
  ): ReadonlyMap<string, ClaimOutcome> {
    const outcomes = new Map<string, ClaimOutcome>()
    for (const { count: asking, row: asked } of claims) {
      const row = this.queue.get(asked.deliveryId)
      if (row === undefined || row.attempts !== asked.attempts) continue
      const until = this.shards.inDoubtUntil(row.shard)
      const unseen = until !== null && this.since.get(row.deliveryId)! > until
      const count = sending && asking === 2 && unseen ? 1 : asking
      this.since.set(row.deliveryId, this.micros)
      if (row.claims >= limit && count > row.claims) {
        this.queue.delete(row.deliveryId)
        this.deadLetters.add(row.deliveryId)
        outcomes.set(row.deliveryId, "given_up")
        continue
      }
      this.queue.set(row.deliveryId, { ...row, claims: Math.max(row.claims, Math.min(count, limit)) })
      outcomes.set(row.deliveryId, "counted")
    }
    return outcomes
  }

  policies(endpoints: ReadonlyArray<LaneRef>): ReadonlyArray<VersionedPolicy | null> {
    return endpoints.map(({ endpointId }) => {
      const endpoint = this.endpoints.get(endpointId)!
      return endpoint.deleted ? null : endpoint.policy
    })
  }

  record(group: ReadonlyArray<Observed>): Recorded {
    let recorded = 0
    let deadLettered = 0
    const tooLate: Array<number> = []
    const disabled: Array<Disabled> = []
    const changed = new Set(
      group
        .filter(({ disables }) => disables !== null)
        .filter(({ endpointId, policyVersion }) => {
          const { deleted, policy } = this.endpoints.get(endpointId)!
          return !deleted && policy.version !== policyVersion
        })
        .map(({ endpointId }) => endpointId as string)
    )
    for (const { at, attemptId, endpointId, rateLimited } of group)
      if (rateLimited) this.beginsOf(endpointId).set(attemptId, at)
    for (const [place, observed] of group.entries()) {
      const delivery = this.deliveries.get(observed.deliveryId)
      const open = delivery?.status === "pending" || delivery?.status === "failed"
      const isNext = delivery !== undefined && open && delivery.attempts === observed.ordinal - 1
      if (!isNext || changed.has(observed.endpointId)) {
        if (!this.stored.has(observed.attemptId)) tooLate.push(place)
        continue
      }
      recorded += 1
      this.stored.add(observed.attemptId)
      delivery.status = observed.status
      delivery.attempts = observed.ordinal
      delivery.lastStatus = observed.httpStatus
      const retry = observed.waitMs
      delivery.nextAttemptAt = retry === null ? null : this.now() + retry
      const row = this.queue.get(observed.deliveryId)
      if (row !== undefined && retry !== null) {
        const due = databaseMicros(this.micros + retry * 1000)
        this.queue.set(row.deliveryId, { ...row, due, attempts: observed.ordinal, claims: 0, atOnce: false })
        this.since.set(row.deliveryId, this.micros)
      } else this.queue.delete(observed.deliveryId)
      if (observed.exhausted && !this.deadLetters.has(observed.deliveryId)) {
        this.deadLetters.add(observed.deliveryId)
        deadLettered += 1
      }
      this.facts.push({
        kind: "recorded",
        at: this.now(),
        observed,
        policy: this.inForce(this.endpoints.get(observed.endpointId)!),
        ...this.fold(observed, disabled)
      })
    }
    return { recorded, deadLettered, disabled, changed, tooLate, moment: this.micros }
  }

  private inForce({ policy }: Endpoint): PolicyInForce {
    return inForce(policy.own, policy.workspace, { retryDelayMs: this.retryDelayMs(), requestTimeoutMs: 0 })
  }

  private fold(observed: Observed, disabled: Array<Disabled>) {
    const { disables, endpointId, failureReason, generation, status } = observed
    const endpoint = this.endpoints.get(endpointId)!
    if (endpoint.generation !== generation) return { streak: null, disables: false }
    if (isUncounted(failureReason)) return { streak: endpoint.streak, disables: false }
    endpoint.streak = status === "delivered" ? 0 : endpoint.streak + 1
    if (endpoint.streak === 1) endpoint.failingSince = this.now()
    const failingMs = this.now() - endpoint.failingSince
    const reason =
      disables === null ? null : disablingReason(disables, { failures: endpoint.streak, failingMs })
    if (!endpoint.enabled || reason === null) return { streak: endpoint.streak, disables: false }
    endpoint.enabled = false
    disabled.push({ endpointId, reason })
    return { streak: endpoint.streak, disables: true }
  }

  deadLetter(batch: number): { readonly processed: number; readonly marked: number } {
    const letters = [...this.deadLetters].slice(0, batch)
    let marked = 0
    for (const deliveryId of letters) {
      this.deadLetters.delete(deliveryId)
      const delivery = this.deliveries.get(deliveryId)!
      if (delivery.status !== "pending" && delivery.status !== "failed") continue
      delivery.status = "dead_lettered"
      delivery.nextAttemptAt = null
      this.notified.push(deliveryId)
      this.facts.push({ kind: "dead_lettered", at: this.now(), deliveryId })
      marked += 1
    }
    return { processed: letters.length, marked }
  }

  /** Whether it was disabled. */
  enable(endpoint: Endpoint): boolean {
    if (endpoint.enabled || endpoint.deleted) return false
    endpoint.enabled = true
    endpoint.streak = 0
    endpoint.generation += 1
    this.facts.push({ kind: "enabled", at: this.now(), endpointId: endpoint.id })
    return true
  }

  disable(endpoint: Endpoint): void {
    if (!endpoint.enabled || endpoint.deleted) return
    endpoint.enabled = false
    this.facts.push({ kind: "disabled", at: this.now(), endpointId: endpoint.id })
  }

  repolicy(endpoint: Endpoint, own: DeliveryPolicy | null): void {
    if (endpoint.deleted) return
    endpoint.policy = { own, workspace: null, version: `${Number(endpoint.policy.version) + 1}` }
    this.rates.push({ endpointId: endpoint.id, at: this.now(), limit: own?.rateLimit ?? null })
  }

  rotate(endpoint: Endpoint, secret: Uint8Array, graceMs: number): void {
    if (endpoint.deleted) return
    endpoint.previous = { secret: endpoint.secret, until: this.now() + graceMs }
    endpoint.secret = secret
    this.facts.push({ kind: "rotated", at: this.now(), endpointId: endpoint.id })
  }

  delete(endpoint: Endpoint): void {
    if (endpoint.deleted) return
    endpoint.deleted = true
    this.begins.delete(endpoint.id)
    for (const delivery of [...this.deliveries.values()]) {
      if (delivery.endpointId !== endpoint.id) continue
      this.deliveries.delete(delivery.id)
      this.queue.delete(delivery.id)
      this.deadLetters.delete(delivery.id)
    }
    this.facts.push({ kind: "deleted", at: this.now(), endpointId: endpoint.id })
  }
}
