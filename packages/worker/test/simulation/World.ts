/**
 * A database, some receivers, and some workers running the real engine, for a stretch of virtual time in which things
 * go wrong by the seed:
 *
 * - a worker dies after it loaded, sent, got an answer, or wrote one down; another has its shards seconds later;
 * - a worker is taken for dead and goes on (zombie), sure of its shards or not;
 * - the database refuses a statement, or carries it out and loses the answer;
 * - publishers commit late, notifications come late or never;
 * - endpoints are rotated, disabled, enabled again and deleted while posts are in flight;
 * - one delivery in some worlds kills whatever worker sends it.
 *
 * Then the faults stop, and everything that can be delivered has to come to its end. What happened is judged by Laws.ts.
 */
import { SqlError } from "@effect/sql/SqlError"
import type { Observation } from "@posthorn/domain/Verdict"
import * as SecretBox from "@posthorn/persistence/SecretBox"
import { encodeSecret } from "@posthorn/signature"
import { Effect, Exit, Redacted, Scope } from "effect"
import * as Engine from "../../src/Engine.ts"
import type { Outgoing } from "../../src/Receiver.ts"
import { tuned } from "../../src/Tuning.ts"
import { answerOf, MANNERS } from "./Answers.ts"
import { RETRY_DELAY_MS, services } from "./Cast.ts"
import { type Answered, type Endpoint, type Post, type Secret, SHARDS } from "./Facts.ts"
import type { Judged } from "./Judged.ts"
import { Model } from "./Model.ts"
import { LATEST_COMMIT_MS, planPublishes } from "./Publishers.ts"
import { Shares, type Worker } from "./Shares.ts"
import { type Chance, makeChance, VirtualTime } from "./VirtualTime.ts"

const GRACE_MS = 20_000
/** Longest time between a statement's instant and its answer. */
const SLOWEST_MS = 30

/** How long before a post what it uses may have been read: the answer takes its time, and then it may wait for a slot. */
const REACH_MS = SLOWEST_MS + tuned.freshMs

const TROUBLE_MS = 25_000
const CALM_MS = 200_000
const SLICE_MS = 2_000
const box = SecretBox.make([Redacted.make(new Uint8Array(32).fill(9))])

export interface WorldOptions {
  readonly calm?: boolean
  /** Breaks a law on purpose: wraps the model. */
  readonly sabotage?: (model: Model) => void
}

export class World implements Judged {
  readonly time = new VirtualTime()
  readonly model = new Model(() => this.time.now)
  readonly posts: Array<Post> = []
  readonly secrets: Array<Secret> = []
  readonly answered: Array<Answered> = []
  poison: string | null = null
  /** Faults that may each repeat what was in flight at one worker. */
  disruptions = 0
  readonly retryDelayMs = RETRY_DELAY_MS
  readonly graceMs = GRACE_MS
  readonly reachMs = () => REACH_MS
  readonly repeatsOf = () => this.disruptions
  private readonly shares = new Shares(this.time)
  private readonly chance: Chance
  private readonly seed: number
  private readonly calm: boolean
  private trouble = true

  constructor(seed: number, { calm = false, sabotage }: WorldOptions = {}) {
    this.seed = seed
    this.calm = calm
    this.chance = makeChance(seed)
    sabotage?.(this.model)
  }

  /** The whole story; afterwards the laws can be read from this object. */
  play(): void {
    const endpoints = 3 + this.chance.below(4)
    for (let n = 0; n < endpoints; n++) this.addEndpoint(n)
    const workers = 1 + this.chance.below(3)
    for (let n = 0; n < workers; n++) this.time.after(this.chance.between(0, 3_000), () => this.addWorker())
    planPublishes({
      time: this.time,
      chance: this.chance,
      model: this.model,
      within: TROUBLE_MS * 0.8,
      poison: !this.calm,
      notify: (payload) => this.notify(payload),
      poisoned: (deliveryId) => {
        this.poison = deliveryId
      }
    })
    if (!this.calm) this.planTrouble()
    this.time.run(TROUBLE_MS)
    this.trouble = false
    for (const endpoint of this.model.endpoints.values()) this.model.enable(endpoint)
    this.shares.balance()
    this.time.run(LATEST_COMMIT_MS)
    for (let calm = 0; calm < CALM_MS && this.model.unfinished; calm += SLICE_MS) this.time.run(SLICE_MS)
    for (const worker of this.shares.workers) {
      this.time.fork(Scope.close(worker.scope, Exit.void), "end")
    }
    this.time.run(5_000)
  }

  // --- The cast

  private addEndpoint(n: number): void {
    const id = `whe_${n}`
    const url = `https://receiver-${n}.example.com/${this.chance.oneOf(MANNERS)}`
    this.model.endpoints.set(id, {
      id,
      workspaceId: `wsp_${n % 2}`,
      shard: n % SHARDS,
      url,
      enabled: true,
      generation: 0,
      streak: 0,
      secret: this.newSecret(id, `wsp_${n % 2}`),
      previous: null,
      deleted: false
    })
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
      tenure: 0,
      owner: null,
      woken: null,
      shards: new Set(),
      scope: Effect.runSync(Scope.make())
    }
    this.shares.workers.push(worker)
    const surroundings = {
      box,
      model: this.model,
      shares: this.shares,
      statement: <A>(name: string, apply: () => A) => this.statement(worker, name, apply),
      receive: (request: Outgoing, done: (seen: Observation | null) => void) =>
        this.receive(worker, request, done)
    }
    const engine = Scope.extend(Engine.start, worker.scope)
    this.time.fork(Effect.provide(engine, services(worker, surroundings)), `${this.seed}/${worker.id}`)
  }

  // --- What surrounds each statement

  private statement<A>(worker: Worker, name: string, apply: () => A): Effect.Effect<A, SqlError> {
    return Effect.suspend(() => {
      if (!worker.alive) return Effect.never
      const troubled = this.trouble && !this.calm
      const refused = troubled && this.chance.happens(0.01)
      const answerLost = troubled && this.chance.happens(0.01)
      return Effect.gen(this, function* () {
        yield* Effect.sleep(this.chance.between(0, SLOWEST_MS / 2))
        if (!worker.alive) return yield* Effect.never
        if (refused) return yield* lost
        const answer = apply()
        if (troubled && (name === "load" || name === "record") && this.chance.happens(0.004))
          this.kill(worker)
        yield* Effect.sleep(this.chance.between(0, SLOWEST_MS / 2))
        if (!worker.alive) return yield* Effect.never
        if (answerLost) return yield* lost
        return answer
      })
    })
  }

  // --- Receivers

  private receive(worker: Worker, request: Outgoing, done: (seen: Observation | null) => void): void {
    if (!worker.alive) return
    const deliveryId = request.headers["webhook-id"]!
    this.posts.push({ at: this.time.now, worker: worker.id, request, deliveryId })
    if (deliveryId === this.poison) this.kill(worker)
    else if (this.troubled(0.004)) this.kill(worker)
    const { after, seen } = answerOf(request.url, this.chance)
    this.time.after(after, () => {
      if (!worker.alive) return
      this.answered.push({ deliveryId, worker: worker.id, at: this.time.now, status: seen.httpStatus })
      done({ ...seen, durationMs: Math.round(after) })
      if (this.troubled(0.004)) this.kill(worker)
    })
  }

  private troubled(probability: number): boolean {
    return this.trouble && !this.calm && this.chance.happens(probability)
  }

  // --- Publishers, operators, and bad luck

  private notify(payload: string): void {
    for (const { alive, woken } of this.shares.workers) {
      if (!alive || woken === null) continue
      this.time.after(this.chance.between(0, 40), () => woken.heard(payload))
    }
  }

  private planTrouble(): void {
    for (let n = this.chance.below(10); n > 0; n--) {
      this.time.after(this.chance.between(2_000, TROUBLE_MS), () => this.operate())
    }
    for (let n = this.chance.below(3); n > 0; n--) {
      this.time.after(this.chance.between(4_000, TROUBLE_MS - 12_000), () => this.mistakeForDead())
    }
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
        this.notify("")
      })
    }
  }

  /** Its shards go to others although it still runs; some time later it learns of it. */
  private mistakeForDead(): void {
    const worker = this.chance.oneOf(this.shares.workers)
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
      this.shares.abandon(worker)
      this.shares.balance()
    })
    this.time.after(this.chance.between(500, 8_000), () => this.addWorker())
  }
}

const lost = Effect.fail(new SqlError({ cause: new Error("Connection terminated"), message: "lost" }))
