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
import { Queue } from "@posthorn/persistence/Queue"
import { Records } from "@posthorn/persistence/Records"
import { Retention } from "@posthorn/persistence/Retention"
import * as SecretBox from "@posthorn/persistence/SecretBox"
import { encodeSecret } from "@posthorn/signature"
import { type Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import * as Engine from "../../src/Engine.ts"
import { type Owner, Ownership } from "../../src/Ownership.ts"
import { type Outgoing, Receiver } from "../../src/Receiver.ts"
import { Wakeups, type Woken } from "../../src/Wakeups.ts"
import { defaults, WorkerConfig } from "../../src/WorkerConfig.ts"
import { type Endpoint, Model, SHARDS } from "./Model.ts"
import { type Chance, makeChance, VirtualTime } from "./VirtualTime.ts"

export const RETRY_DELAY_MS = 1_000
export const GRACE_MS = 20_000
/** Longest time between a statement's instant and its answer. */
export const SLOWEST_MS = 30

const TROUBLE_MS = 25_000
const CALM_MS = 200_000
const SLICE_MS = 2_000
/** How long a publisher may take to commit. */
const LATEST_COMMIT_MS = 8_000
/** A receiver that never answers is given up after this. */
const HANG_MS = 2_000
const box = SecretBox.make([Redacted.make(new Uint8Array(32).fill(9))])

export interface Post {
  readonly at: number
  readonly worker: number
  readonly request: Outgoing
  readonly deliveryId: string
}

export interface Secret {
  readonly endpointId: string
  readonly sealed: Uint8Array
  readonly key: Buffer
}

interface Worker {
  readonly id: number
  alive: boolean
  /** Believes in its shards whatever the others decided. */
  deluded: boolean
  certain: boolean
  /** Counts how often its shards were taken from it. */
  tenure: number
  owner: Owner | null
  woken: Woken | null
  readonly shards: Set<number>
  readonly scope: Scope.CloseableScope
}

export interface WorldOptions {
  readonly calm?: boolean
  /** Breaks a law on purpose: wraps the model. */
  readonly sabotage?: (model: Model) => void
}

export class World {
  readonly time = new VirtualTime()
  readonly model = new Model(() => this.time.now)
  readonly posts: Array<Post> = []
  readonly secrets: Array<Secret> = []
  readonly answered: Array<{
    readonly deliveryId: string
    readonly at: number
    readonly status: number | null
  }> = []
  poison: string | null = null
  /** Faults that may each repeat what was in flight at one worker. */
  disruptions = 0
  private readonly workers: Array<Worker> = []
  private readonly owners = new Map<number, Worker | null>()
  private readonly unclean = new Set<number>()
  private readonly chance: Chance
  private readonly seed: number
  private readonly calm: boolean
  private trouble = true

  constructor(seed: number, { calm = false, sabotage }: WorldOptions = {}) {
    this.seed = seed
    this.calm = calm
    this.chance = makeChance(seed)
    sabotage?.(this.model)
    for (let shard = 0; shard < SHARDS; shard++) this.owners.set(shard, null)
  }

  /** The whole story; afterwards the laws can be read from this object. */
  play(): void {
    const endpoints = 3 + this.chance.below(4)
    for (let n = 0; n < endpoints; n++) this.addEndpoint(n)
    const workers = 1 + this.chance.below(3)
    for (let n = 0; n < workers; n++) this.time.after(this.chance.between(0, 3_000), () => this.addWorker())
    this.planPublishes()
    if (!this.calm) this.planTrouble()
    this.time.run(TROUBLE_MS)
    this.trouble = false
    for (const endpoint of this.model.endpoints.values()) this.model.enable(endpoint)
    this.balance()
    this.time.run(LATEST_COMMIT_MS)
    for (let calm = 0; calm < CALM_MS && this.unfinished; calm += SLICE_MS) this.time.run(SLICE_MS)
    for (const worker of this.workers) {
      this.time.fork(Scope.close(worker.scope, Exit.void), "end")
    }
    this.time.run(5_000)
  }

  private get unfinished(): boolean {
    const { deadLetters, endpoints, queue } = this.model
    return (
      deadLetters.size > 0 || [...queue.values()].some(({ endpointId }) => endpoints.get(endpointId)!.enabled)
    )
  }

  // --- The cast

  private addEndpoint(n: number): void {
    const id = `whe_${n}`
    const url = `https://receiver-${n}.example.com/${this.chance.oneOf(["ok", "ok", "flaky", "flaky", "slow", "gone", "dead", "hang"])}`
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
      id: this.workers.length,
      alive: true,
      deluded: false,
      certain: true,
      tenure: 0,
      owner: null,
      woken: null,
      shards: new Set(),
      scope: Effect.runSync(Scope.make())
    }
    this.workers.push(worker)
    this.time.fork(
      Scope.extend(Engine.start, worker.scope).pipe(Effect.provide(this.services(worker))),
      `${this.seed}/${worker.id}`
    )
  }

  private services(worker: Worker) {
    const { model } = this
    const asks = <A>(name: string, apply: () => A) => this.statement(worker, name, apply)
    const queue: Context.Tag.Service<Queue> = {
      due: (marks, skip, perShard) => asks("due", () => model.due(marks, skip, perShard)),
      nextDue: (shards) => asks("nextDue", () => model.nextDue(shards)),
      dueOf: (lanes) => asks("dueOf", () => model.dueOf(lanes)),
      load: (rows) => asks("load", () => model.load(rows)),
      takeUp: (rows, assumed, limit) => asks("takeUp", () => model.takeUp(rows, assumed, limit)),
      disabledAmong: (lanes) => asks("disabledAmong", () => model.disabledAmong(lanes))
    }
    return Layer.mergeAll(
      Layer.succeed(Queue, queue),
      Layer.succeed(Records, {
        record: (observed, limit) => asks("record", () => model.record(observed, limit)),
        bury: (batch) => asks("bury", () => model.bury(batch))
      }),
      Layer.succeed(Retention, { daily: Effect.succeed(null), run: Effect.never }),
      Layer.succeed(SecretBox.SecretBox, box),
      Layer.succeed(Ownership, {
        certain: () => worker.alive && (worker.certain || worker.deluded),
        keep: (owner) =>
          Effect.suspend(() => {
            worker.owner = owner
            this.balance()
            return Effect.never
          })
      }),
      Layer.succeed(Wakeups, {
        listen: (woken) =>
          Effect.suspend(() => {
            worker.woken = woken
            woken.listening()
            return Effect.never
          })
      }),
      Layer.succeed(Receiver, {
        fixedHeaders: { "content-type": "application/json" },
        send: (request, done) => this.receive(worker, request, done)
      }),
      Layer.succeed(WorkerConfig, {
        ...defaults,
        batchSize: 5,
        maxConcurrency: 2,
        endpointConcurrency: 3,
        retryDelayMs: RETRY_DELAY_MS,
        requestTimeoutMs: HANG_MS,
        bodyTimeoutMs: 100
      })
    )
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
    const { after, seen } = this.answer(request.url)
    this.time.after(after, () => {
      if (!worker.alive) return
      this.answered.push({ deliveryId, at: this.time.now, status: seen.httpStatus })
      done({ ...seen, durationMs: Math.round(after) })
      if (this.troubled(0.004)) this.kill(worker)
    })
  }

  private troubled(probability: number): boolean {
    return this.trouble && !this.calm && this.chance.happens(probability)
  }

  private answer(url: string): { readonly after: number; readonly seen: Omit<Observation, "durationMs"> } {
    const status = (httpStatus: number) => ({ httpStatus, failureReason: null, responseBody: "" })
    const quick = this.chance.between(1, 80)
    switch (url.split("/").pop()) {
      case "flaky":
        return { after: quick, seen: status(this.chance.oneOf([200, 500, 429, 408, 503, 302])) }
      case "slow":
        return { after: this.chance.between(300, 1_500), seen: status(200) }
      case "gone":
        return { after: quick, seen: status(410) }
      case "dead":
        return {
          after: quick,
          seen: { httpStatus: null, failureReason: "connection_failed", responseBody: null }
        }
      case "hang":
        return {
          after: HANG_MS,
          seen: { httpStatus: null, failureReason: "request_timeout", responseBody: null }
        }
      default:
        return { after: quick, seen: status(200) }
    }
  }

  // --- Publishers, operators, and bad luck

  private planPublishes(): void {
    const count = 30 + this.chance.below(60)
    const poisonous = !this.calm && this.chance.happens(0.15) ? this.chance.below(count) : -1
    for (let n = 0; n < count; n++) {
      const burst = this.chance.happens(0.5) ? 5_000 : this.chance.between(0, TROUBLE_MS * 0.8)
      this.time.after(burst, () => this.publish(n, n === poisonous))
    }
  }

  private publish(n: number, poisonous: boolean): void {
    const endpoint = this.chance.oneOf([...this.model.endpoints.values()])
    const moment = this.time.now
    const late = this.chance.happens(0.2)
      ? this.chance.between(0, LATEST_COMMIT_MS)
      : this.chance.between(0, 5)
    const deliveryId = `whd_${String(n).padStart(4, "0")}`
    this.time.after(late, () => {
      if (!this.model.publish(endpoint.id, deliveryId, moment)) return
      if (poisonous) this.poison = deliveryId
      this.notify(String(moment * 1000))
    })
  }

  private notify(payload: string): void {
    for (const { alive, woken } of this.workers) {
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
    const worker = this.chance.oneOf(this.workers)
    if (worker === undefined || !worker.alive || worker.shards.size === 0) return
    this.disruptions += 1
    worker.certain = false
    worker.deluded = this.chance.happens(0.5)
    this.abandon(worker)
    this.time.after(this.chance.between(1_000, 10_000), () => {
      for (let shard = 0; shard < SHARDS; shard++) if (!worker.shards.has(shard)) worker.owner?.lost(shard)
      worker.deluded = false
      worker.certain = true
      this.balance()
    })
  }

  private kill(worker: Worker): void {
    if (!worker.alive) return
    worker.alive = false
    this.disruptions += 1
    const delay = this.chance.between(300, 5_000)
    this.time.after(delay, () => {
      this.abandon(worker)
      this.balance()
    })
    this.time.after(this.chance.between(500, 8_000), () => this.addWorker())
  }

  private abandon(worker: Worker): void {
    for (const shard of worker.shards) {
      this.owners.set(shard, null)
      this.unclean.add(shard)
    }
    worker.shards.clear()
    worker.tenure += 1
  }

  /** Gives ownerless shards to whoever has fewest, and takes one from whoever has too many. */
  private balance(): void {
    const present = this.workers.filter(({ alive, certain, owner }) => alive && certain && owner !== null)
    if (present.length === 0) return
    for (const [shard, owner] of this.owners) {
      if (owner !== null) continue
      const poorest = present.reduce((a, b) => (b.shards.size < a.shards.size ? b : a))
      this.give(shard, poorest)
    }
    const richest = present.reduce((a, b) => (b.shards.size > a.shards.size ? b : a))
    const poorest = present.reduce((a, b) => (b.shards.size < a.shards.size ? b : a))
    if (richest.shards.size - poorest.shards.size > 1) this.move([...richest.shards][0]!, richest)
  }

  private give(shard: number, worker: Worker): void {
    const suspectUntil = this.unclean.delete(shard) ? this.time.now * 1000 : null
    this.owners.set(shard, worker)
    worker.shards.add(shard)
    worker.owner!.taken(shard, suspectUntil)
  }

  private move(shard: number, from: Worker): void {
    const { tenure } = from
    this.time.fork(
      Effect.map(from.owner!.drained(shard), () => {
        if (!from.alive || from.tenure !== tenure || !from.shards.has(shard)) return
        from.shards.delete(shard)
        this.owners.set(shard, null)
        this.balance()
      }),
      "move"
    )
  }
}

const lost = Effect.fail(new SqlError({ cause: new Error("Connection terminated"), message: "lost" }))
