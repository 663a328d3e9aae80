/**
 * A database, some receivers, and some workers running the real engine, for a period of virtual time in which the seed makes
 * things go wrong:
 *
 * - a worker dies after it loaded, sent, received or recorded; another worker gets its shards seconds later;
 * - a worker is taken for dead and goes on (zombie), sure of its shards or not;
 * - the database refuses a statement, or executes it and loses the answer;
 * - it answers late, its tables are locked, or a connection stalls for a while;
 * - publishers commit late, notifications come late or never, and a listener is deaf without knowing it;
 * - PostgreSQL is restarted under healthy workers; locks cannot be taken;
 * - the workers' clocks are set back and ahead;
 * - endpoints are rotated, disabled, enabled again and deleted while posts are in flight;
 * - one delivery in some worlds kills whatever worker sends it.
 *
 * Worlds of other moods (FaultPlan.ts) have a single fault each.
 *
 * Then the faults stop, and everything that can be delivered must become terminal. Laws.ts judges what happened.
 */
import { SqlError } from "@effect/sql/SqlError"
import type { DeliveryPolicy } from "@posthorn/domain/DeliveryPolicy"
import { isUncounted, type Observation } from "@posthorn/domain/Verdict"
import * as SecretBox from "@posthorn/persistence/client/SecretBox"
import type { DatabaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { encodeSecret } from "@posthorn/signature"
import { Effect, Exit, Redacted, Scope } from "effect"
import type { Outgoing } from "../../src/attempt/Sender.ts"
import { CLOCK_ERROR_MS } from "../../src/dispatcher/SlidingWindow.ts"
import * as Engine from "../../src/Engine.ts"
import type { Hearer } from "../../src/polling/Listener.ts"
import { type TuningValues, tuned } from "../../src/Tuning.ts"
import { answerOf } from "./Answers.ts"
import { type Answered, type Endpoint, type EndpointChange, type Post, type Secret, SHARDS } from "./Facts.ts"
import { type FaultPlan, faultPlanOf, type Mood } from "./FaultPlan.ts"
import type { Judged } from "./Judged.ts"
import { Model } from "./Model.ts"
import { type OddWorkspaces, oddWorkspaces, planOdd } from "./OddWorkspaces.ts"
import { policyOf } from "./Policies.ts"
import { Shares, type Worker } from "./Shares.ts"
import { lockNotAvailable, Slowness } from "./Slowness.ts"
import { type Chance, makeChance, VirtualTime } from "./VirtualTime.ts"
import { services } from "./WorkerServices.ts"
import { LATEST_COMMIT_MS, planPublishes } from "./WorldPublishers.ts"

const GRACE_MS = 20_000
const TROUBLE_MS = 25_000
/** With two slots, statements of seconds, and receivers that never answer, this takes a while. */
const CALM_MS = 1_000_000
/** More workers than this die only of a poison that nobody gives up. */
const MOST_WORKERS = 40
/** The time a worker may need after its poll to send what it found. */
const PROMPT_MS = 3_000
/** As in Loader.ts. */
const LOAD_ROUND_TRIPS = 2.5
/** Round trips from a commit to the first attempt, if everything in a slow world is published at once. */
const SLOW_ROUND_TRIPS = 20
/** What clocks are set to: back by a year, an hour, a second; ahead; right again. */
const CLOCKS_OFF = [-31_536_000_000, -3_600_000, -1_000, 0, 3_600_000]
const SLICE_MS = 2_000
const HEARTBEAT_MS = 1_000
const idOf = (endpoint: number) => `whe_${endpoint}`
const box = SecretBox.make([Redacted.make(new Uint8Array(32).fill(9))])

interface WorldOptions {
  readonly mood?: Mood
  /** These override those of the seed. */
  readonly plan?: Partial<FaultPlan>
  readonly tuning?: Partial<TuningValues>
  /** Breaks a law on purpose: wraps the model. */
  readonly sabotage?: (model: Model) => void
}

export class World implements Judged {
  readonly time = new VirtualTime()
  readonly model = new Model(
    () => this.time.now,
    () => this.retryDelayMs
  )
  readonly posts: Array<Post> = []
  readonly secrets: Array<Secret> = []
  readonly answered: Array<Answered> = []
  readonly endpointChanges: Array<EndpointChange> = []
  poison: string | null = null
  private readonly commits = new Map<string, { readonly begunAt: number; readonly committedAt: number }>()
  /** Faults that may each repeat what was in flight at one worker. */
  disruptions = 0
  readonly graceMs = GRACE_MS
  /** One for each fault, and whatever a worker sent that was taken for dead without knowing it. */
  readonly repeatsOf = (deliveryId: string) =>
    this.disruptions +
    this.posts.filter((post) => post.deliveryId === deliveryId && this.deluded.has(post)).length
  private readonly deluded = new Set<Post>()
  readonly isStray = (post: Post) => this.deluded.has(post)
  readonly holdersLost = (deliveryId: string) => this.lostHolders.get(deliveryId) ?? 0
  readonly plan: FaultPlan
  /** When nobody heard notifications, in a deaf world. */
  readonly silences: Array<{ readonly from: number; readonly to: number }> = []
  private readonly polls: Array<number> = []
  private readonly lostHolders = new Map<string, number>()
  private readonly shares = new Shares(
    this.time,
    this.model,
    (shard) => this.takenOver(shard),
    // It is sent again.
    () => {
      this.disruptions += 1
    }
  )
  private readonly chance: Chance
  /** A second generator, so that features added later do not change the worlds of seeds in `MET_BEFORE`. */
  private readonly laterChance: Chance
  private readonly slowness: Slowness
  private readonly readWithinMs: number
  private readonly seed: number
  private readonly mood: Mood
  private readonly oddOnes: OddWorkspaces | null
  /** Endpoints of which a session has locked a row. */
  private readonly lockedRows = new Set<string>()
  private trouble = true
  /** The number of workers started, without replacements of dead ones. */
  private planned = 1

  constructor(seed: number, { mood = "trouble", plan: changed, sabotage, tuning }: WorldOptions = {}) {
    this.seed = seed
    this.mood = mood
    this.oddOnes =
      mood === "hanging" || mood === "joining" || mood === "disabled" ? oddWorkspaces[mood] : null
    this.chance = makeChance(seed)
    this.laterChance = makeChance(seed + 500_000)
    const plan = faultPlanOf(this.chance, mood)
    this.readWithinMs = Math.max(plan.tuning.lateMs, LOAD_ROUND_TRIPS * plan.quickestMs) + plan.tuning.freshMs
    this.plan = { ...plan, ...changed, tuning: { ...plan.tuning, ...tuning } }
    this.slowness = new Slowness(this.time, this.chance, plan)
    sabotage?.(this.model)
  }

  get rates() {
    return this.model.rates
  }

  get retryDelayMs(): number {
    return this.plan.retryDelayMs
  }

  /**
   * The answer may take some time, then the delivery may wait for a slot: by the seed's constants, even when a law is
   * broken.
   */
  readonly reachMs = () => this.readWithinMs

  get promptUntil(): ((deliveryId: string) => number) | undefined {
    if (this.mood === "deaf") return (deliveryId) => this.heardUntil(deliveryId)
    if (this.mood === "lost") return (deliveryId) => this.foundUntil(deliveryId)
    if (this.mood !== "slow") return undefined
    return (deliveryId) => this.commits.get(deliveryId)!.committedAt + SLOW_ROUND_TRIPS * this.plan.slowestMs
  }

  get fairUntil(): ((deliveryId: string) => number) | undefined {
    const { oddOnes } = this
    return oddOnes === null
      ? undefined
      : (deliveryId) =>
          (this.commits.get(deliveryId)?.committedAt ?? Number.POSITIVE_INFINITY) + oddOnes.fairMs
  }

  /** At once when it was heard, or when a poll starts early enough; otherwise when somebody listens again. */
  private heardUntil(deliveryId: string): number {
    const { begunAt, committedAt } = this.commits.get(deliveryId)!
    const silence = this.silences.find(
      ({ from, to }) => from <= committedAt + this.plan.noticeMs && committedAt < to
    )
    const soon = committedAt + this.plan.tuning.pollMs + PROMPT_MS
    const reached = committedAt - begunAt < tuned.lookBackMs - tuned.notListeningPollMs - PROMPT_MS / 10
    return silence === undefined || reached ? soon : Math.max(soon, silence.to + PROMPT_MS)
  }

  /** By the next timed poll, or by the next sweep if a poll has moved the cursor past it before it was committed. */
  private foundUntil(deliveryId: string): number {
    const { begunAt, committedAt } = this.commits.get(deliveryId)!
    const isBehind = this.polls.some((at) => begunAt <= at && at <= committedAt)
    return committedAt + tuned.pollMs + (isBehind ? tuned.sweepMs : 0) + PROMPT_MS
  }

  /** Runs the whole story; afterwards the laws can be read from this object. */
  play(): void {
    if (this.oddOnes === null) this.scatter()
    else this.gather(this.oddOnes)
    const isAlone = this.mood === "deaf" || this.mood === "lost" || this.oddOnes !== null
    this.planned = isAlone ? 1 : 1 + this.chance.below(3)
    for (let n = 0; n < this.planned; n++)
      this.time.after(this.chance.between(0, 3_000), () => this.addWorker())
    this.publish()
    this.beat()
    if (this.mood === "trouble") this.planTrouble()
    if (this.mood === "deaf") this.planSilence()
    this.time.run(TROUBLE_MS)
    this.trouble = false
    for (const endpoint of this.model.endpoints.values()) this.model.enable(endpoint)
    this.shares.balance()
    this.time.run(LATEST_COMMIT_MS)
    for (let calm = 0; calm < CALM_MS && this.hasMoreToTell; calm += SLICE_MS) this.time.run(SLICE_MS)
    for (const worker of this.shares.workers) {
      this.time.fork(Scope.close(worker.scope, Exit.void), "end")
    }
    this.time.run(5_000)
  }

  private get hasMoreToTell(): boolean {
    return this.model.unfinished && this.shares.workers.length < MOST_WORKERS
  }

  private beat(): void {
    this.shares.clearDoubt()
    this.time.after(HEARTBEAT_MS, () => this.beat())
  }

  private publish(): void {
    if (this.oddOnes !== null) {
      planOdd(this.oddOnes, {
        time: this.time,
        chance: this.chance,
        model: this.model,
        idOf,
        notify: (since, shard) => this.notify(since, [shard]),
        committed: (id) => this.commits.set(id, { begunAt: this.time.now, committedAt: this.time.now }),
        lock: (endpointId, milliseconds) => {
          this.lockedRows.add(endpointId)
          this.time.after(milliseconds, () => this.lockedRows.delete(endpointId))
        }
      })
      return
    }
    planPublishes({
      time: this.time,
      chance: this.chance,
      model: this.model,
      within: TROUBLE_MS * 0.8,
      poison: this.mood === "trouble",
      // Test sends are never named.
      notify: (row) =>
        row.atOnce || this.laterChance.happens(0.5)
          ? this.notify(row.due, [row.shard])
          : this.tell((hearer) => hearer.published(row)),
      committed: (deliveryId, begunAt) =>
        this.commits.set(deliveryId, { begunAt, committedAt: this.time.now }),
      poisoned: (deliveryId) => {
        this.poison = deliveryId
      }
    })
  }

  // --- The actors

  private scatter(): void {
    const endpoints = 3 + this.chance.below(4)
    for (let n = 0; n < endpoints; n++)
      this.addEndpoint(n, `wsp_${n % 2}`, this.chance.oneOf(this.plan.manners))
  }

  private gather({ joinsAtMs, odd, quiet }: OddWorkspaces): void {
    for (const { endpoint, manner, workspaceId } of [...odd, ...quiet])
      this.addEndpoint(endpoint, workspaceId, manner)
    if (joinsAtMs === undefined) return
    this.time.after(joinsAtMs, () => this.addWorker())
  }

  private addEndpoint(n: number, workspaceId: string, manner: string): void {
    const id = idOf(n)
    const url = `https://receiver-${n}.example.com/${manner}`
    const own = this.ownPolicy()
    this.model.rates.push({ endpointId: id, at: 0, limit: own?.rateLimit ?? null })
    this.model.endpoints.set(id, {
      id,
      workspaceId,
      shard: n % SHARDS,
      url,
      enabled: true,
      generation: 0,
      streak: 0,
      failingSince: 0,
      policy: { own, workspace: null, version: "0" },
      secret: this.newSecret(id, workspaceId),
      previous: null,
      deleted: false
    })
  }

  private ownPolicy(): DeliveryPolicy | null {
    return this.mood === "trouble" && this.laterChance.happens(0.5) ? policyOf(this.laterChance) : null
  }

  private newSecret(endpointId: string, workspaceId: string): Uint8Array {
    const key = Buffer.from(Array.from({ length: 32 }, () => this.chance.below(256)))
    const sealed = box.seal({ workspaceId, endpointId }, Redacted.make(encodeSecret(key)))
    this.secrets.push({ endpointId, sealed, key })
    return sealed
  }

  private addWorker(): void {
    const worker: Worker = {
      id: this.shares.workers.length,
      alive: true,
      deluded: false,
      certain: true,
      term: 0,
      owner: null,
      hearer: null,
      locks: { take: () => Effect.succeed({ taken: [], others: [] }), release: Effect.void },
      shards: new Set(),
      hears: true,
      clockOff: 0,
      scope: Effect.runSync(Scope.make())
    }
    this.shares.workers.push(worker)
    const surroundings = {
      box,
      plan: this.plan,
      trueTime: (observed: Observed) => this.trueTime(worker, observed),
      model: this.model,
      shares: this.shares,
      lockedRows: this.lockedRows,
      statement: <A>(name: string, apply: () => A, asked?: number) =>
        this.statement(worker, name, apply, asked),
      receive: (request: Outgoing, done: (seen: Observation | null) => void) =>
        this.receive(worker, request, done)
    }
    const engine = Scope.extend(Engine.start, worker.scope)
    this.time.fork(
      Effect.provide(engine, services(worker, surroundings)),
      `${this.seed}/${worker.id}`,
      this.time.clockOff(() => worker.clockOff)
    )
  }

  // --- What surrounds each statement

  private statement<A>(worker: Worker, name: string, apply: () => A, asked = 0): Effect.Effect<A, SqlError> {
    return Effect.suspend(() => {
      if (!worker.alive) return Effect.never
      const troubled = this.trouble && this.mood === "trouble"
      const refused = troubled && this.chance.happens(0.01)
      const answerLost = troubled && this.chance.happens(0.01)
      const locked = troubled && name === "record" && this.chance.happens(0.01)
      const way = this.slowness.way(worker, troubled)
      const lock = this.slowness.lockOf(name)
      return Effect.gen(this, function* () {
        yield* way
        if (!worker.alive) return yield* Effect.never
        if (refused) return yield* lost
        if (locked) return yield* lockNotAvailable
        if (name === "due") this.polls.push(this.time.now)
        const held = yield* lock(apply)
        if (asked * this.plan.eachMs > 0) yield* Effect.sleep(asked * this.plan.eachMs)
        if (held === null) return yield* lockNotAvailable
        if (troubled && (name === "load" || name === "record") && this.chance.happens(0.004))
          this.kill(worker)
        yield* way
        if (!worker.alive) return yield* Effect.never
        if (answerLost) return yield* lost
        return held.answer
      })
    })
  }

  // --- Receivers

  private receive(worker: Worker, request: Outgoing, done: (seen: Observation | null) => void): void {
    if (!worker.alive) return
    const deliveryId = request.headers["webhook-id"]!
    const sure = worker.certain || worker.deluded
    const { clockOff } = worker
    const post = { at: this.time.now, worker: worker.id, request, deliveryId, clockOff, sure }
    this.posts.push(post)
    if (worker.deluded) this.deluded.add(post)
    if (deliveryId === this.poison) this.kill(worker)
    else if (this.troubled(0.004)) this.kill(worker)
    const { after, seen } = answerOf(request.url, this.chance)
    this.time.after(after, () => {
      if (!worker.alive) return
      const uncounted = isUncounted(seen.failureReason)
      this.answered.push({
        deliveryId,
        worker: worker.id,
        at: this.time.now,
        status: seen.httpStatus,
        uncounted
      })
      done({ ...seen, durationMs: Math.round(after) })
      if (this.troubled(0.004)) this.kill(worker)
    })
  }

  private troubled(probability: number): boolean {
    return this.trouble && this.mood === "trouble" && this.chance.happens(probability)
  }

  // --- Publishers, operators, and bad luck

  private notify(since: DatabaseMicros | null, shards: ReadonlyArray<number>): void {
    this.tell((hearer) => hearer.heard(since, shards))
  }

  private tell(hear: (hearer: Hearer) => void): void {
    for (const worker of this.shares.workers) {
      if (!worker.alive || worker.hearer === null) continue
      const { hearer } = worker
      this.time.after(this.chance.between(0, this.plan.noticeMs), () => {
        if (worker.hears && !(this.mood === "lost" && this.laterChance.happens(0.5))) hear(hearer)
      })
    }
  }

  /** Something that its requests depend on is changed. */
  private changeEndpoint({ id, shard, streak }: Endpoint): void {
    for (const worker of this.shares.workers) {
      if (!worker.alive || worker.hearer === null) continue
      const { hearer } = worker
      this.time.after(this.laterChance.between(0, this.plan.noticeMs), () => {
        if (!worker.hears) return
        this.endpointChanges.push({ endpointId: id, worker: worker.id, at: this.time.now })
        hearer.endpointChanged(id, streak, shard)
      })
    }
  }

  private repolicy(endpoint: Endpoint): void {
    this.model.repolicy(endpoint, this.ownPolicy())
    this.changeEndpoint(endpoint)
  }

  private planTrouble(): void {
    for (let n = this.chance.below(10); n > 0; n--) {
      this.time.after(this.chance.between(2_000, TROUBLE_MS), () => this.operate())
    }
    for (let n = this.laterChance.below(6); n > 0; n--)
      this.time.after(this.laterChance.between(2_000, TROUBLE_MS), () =>
        this.repolicy(this.laterChance.oneOf([...this.model.endpoints.values()]))
      )
    for (let n = this.chance.below(3); n > 0; n--) {
      this.time.after(this.chance.between(4_000, TROUBLE_MS - 12_000), () => this.mistakeForDead())
    }
    for (let n = this.chance.below(4); n > 0; n--) {
      this.time.after(this.chance.between(1_000, TROUBLE_MS), () => this.setClock(this.someWorker()))
      const [unaware, lasting] = [this.chance.magnitude(10, 5_000), this.chance.magnitude(10, 10_000)]
      this.time.after(this.chance.between(1_000, TROUBLE_MS), () =>
        this.deafen(this.someWorker(), unaware, lasting)
      )
    }
    for (let n = this.chance.below(3); n > 0; n--) {
      this.time.after(this.chance.between(4_000, TROUBLE_MS), () => this.restartDatabase())
    }
    for (let n = this.chance.below(4); n > 0; n--) {
      const after = () => this.chance.between(2_000, TROUBLE_MS - 12_000)
      this.time.after(after(), () => this.slowness.lockTable())
      this.time.after(after(), () => this.slowness.stall(this.someWorker()))
    }
  }

  /** Twice, and for longer than the time until the next sweep. */
  private planSilence(): void {
    for (const from of [this.chance.between(3_000, 4_500), this.chance.between(15_000, 16_000)]) {
      const lasting = this.chance.between(3_000, 10_000)
      this.silences.push({ from: this.time.now + from, to: this.time.now + from + lasting })
      this.time.after(from, () => this.deafen(this.shares.workers[0], 0, lasting))
    }
  }

  /** Its listener's connection breaks; it notices some time later, and then connects again. */
  private deafen(worker: Worker | undefined, unaware: number, lasting: number): void {
    if (worker === undefined || !worker.hears || !worker.alive || worker.hearer === null) return
    const { hearer } = worker
    worker.hears = false
    // PostgreSQL may notice the broken connection before the worker does, or after.
    this.time.after(this.chance.between(0, 2 * unaware), () => this.model.wakeUp(worker))
    this.time.after(unaware, () => hearer.stoppedListening())
    this.time.after(unaware + lasting, () => {
      worker.hears = true
      hearer.listening(worker.locks)
    })
  }

  private setClock(worker: Worker | undefined): void {
    if (worker !== undefined) worker.clockOff = this.chance.oneOf(CLOCKS_OFF)
  }

  /** PostgreSQL is restarted: shards and notifications are lost, and the first workers to connect get the shards. */
  private restartDatabase(): void {
    if (Math.max(this.planned, this.shares.workers.length) > 1) this.disruptions += 1
    this.shares.loseAll()
    for (const worker of this.shares.workers) this.deafen(worker, 0, this.chance.between(100, 2_000))
    const away = this.chance.magnitude(50, 5_000)
    this.time.after(away, () => {
      for (const worker of this.shares.workers) worker.certain = true
      this.shares.balance()
    })
  }

  /** Rows that wait in the shard were held by a worker that seems to have died. */
  private takenOver(shard: number): void {
    for (const row of this.model.queue.values()) {
      if (row.shard !== shard || row.due > this.time.now * 1000) continue
      this.lostHolders.set(row.deliveryId, this.holdersLost(row.deliveryId) + 1)
    }
  }

  private trueTime(worker: Worker, { at, deliveryId }: Observed): number {
    const post = this.posts.findLast(
      (one) =>
        one.deliveryId === deliveryId &&
        one.worker === worker.id &&
        Math.abs(one.at + one.clockOff! - at) <= CLOCK_ERROR_MS
    )
    return post?.at ?? at - worker.clockOff
  }

  private operate(): void {
    const endpoint: Endpoint = this.chance.oneOf([...this.model.endpoints.values()])
    const { model } = this
    const act = this.chance.oneOf(["rotate", "rotate", "disable", "disable", "delete"])
    if (act === "rotate") model.rotate(endpoint, this.newSecret(endpoint.id, endpoint.workspaceId), GRACE_MS)
    else if (act === "delete" && this.chance.happens(0.5)) model.delete(endpoint)
    else if (act === "disable") {
      model.disable(endpoint)
      this.time.after(this.chance.between(100, 8_000), () => {
        model.enable(endpoint)
        this.tell((hearer) => hearer.endpointUsable({ ...endpoint, endpointId: endpoint.id }))
        this.changeEndpoint(endpoint)
      })
    }
  }

  private someWorker(): Worker | undefined {
    const { workers } = this.shares
    return workers.length === 0 ? undefined : this.chance.oneOf(workers)
  }

  /** Its shards go to others although it still runs; some time later it notices. */
  private mistakeForDead(): void {
    const worker = this.someWorker()
    if (worker === undefined || !worker.alive || worker.shards.size === 0) return
    this.disruptions += 1
    worker.certain = false
    worker.deluded = this.chance.happens(0.5)
    this.shares.abandon(worker)
    this.time.after(this.chance.between(1_000, 10_000), () => {
      this.shares.undeceive(worker)
    })
  }

  private kill(worker: Worker): void {
    if (!worker.alive) return
    worker.alive = false
    this.disruptions += 1
    const delay = this.chance.between(300, 5_000)
    this.time.after(delay, () => {
      this.model.wakeUp(worker)
      this.shares.abandon(worker)
      this.shares.balance()
    })
    this.time.after(this.chance.between(500, 8_000), () => this.addWorker())
  }
}

const lost = Effect.fail(new SqlError({ cause: new Error("Connection terminated"), message: "lost" }))
