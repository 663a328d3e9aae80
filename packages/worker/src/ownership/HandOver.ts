/**
 * Hands a shard over to another worker, although one of its receivers may hang.
 *
 *   going on   everything is sent as before, except to endpoints that are slow or have a locked row (`Dispatcher.holdBack`);
 *              ends when none of these has an attempt in flight or unrecorded
 *   draining   nothing is started; goes back to going on when requests in flight last a second
 *
 * Guarantees: other endpoints wait for a second at a time. After `mostMs` in all the shard is left, as when a worker stops. Attempts
 * that are in flight or unrecorded then are still recorded, but the next owner may send their deliveries again.
 * Source: spec §3.4, docs/adr/0011-shard-ownership.md.
 */
import { elapsed } from "@posthorn/telemetry/Elapsed"
import { Effect } from "effect"
import { LONG_MS } from "../dispatcher/SlotShares.ts"
import type { Parts } from "../Parts.ts"
import * as Schedules from "../Schedules.ts"

export class HandOver {
  private readonly parts: Pick<Parts, "clock" | "dispatcher">
  private readonly mostMs: number
  private readonly leaving = new Set<number>()

  constructor(parts: Pick<Parts, "clock" | "dispatcher">, mostMs: number) {
    this.parts = parts
    this.mostMs = mostMs
  }

  lost(shard: number): void {
    this.leaving.delete(shard)
  }

  /** Done when the shard is drained, given up, or lost. */
  readonly run = (shard: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      this.leaving.add(shard)
      return this.goOn(shard, this.now + this.mostMs)
    })

  private goOn(shard: number, deadline: number): Effect.Effect<void> {
    const { dispatcher } = this.parts
    return this.until(shard, deadline, () => !dispatcher.holdBack(shard, this.now)).pipe(
      Effect.zipRight(Effect.suspend(() => this.drain(shard, deadline)))
    )
  }

  private drain(shard: number, deadline: number): Effect.Effect<void> {
    const { dispatcher } = this.parts
    if (!this.leaving.has(shard)) return Effect.void
    const isDrained = () => dispatcher.ids.of(shard) === 0
    dispatcher.lose(shard)
    return this.until(shard, Math.min(deadline, this.now + LONG_MS), isDrained).pipe(
      Effect.flatMap(() => {
        if (this.leaving.has(shard) && !isDrained() && this.now < deadline) {
          dispatcher.retake(shard)
          return this.goOn(shard, deadline)
        }
        this.leaving.delete(shard)
        return Effect.void
      })
    )
  }

  private get now(): number {
    return elapsed(this.parts.clock)
  }

  private until(shard: number, deadline: number, done: () => boolean): Effect.Effect<void> {
    const over = () => done() || this.now >= deadline || !this.leaving.has(shard)
    return Effect.suspend(() => (over() ? Effect.void : Effect.fail("not yet" as const))).pipe(
      Effect.retry(Schedules.drained),
      Effect.orDie
    )
  }
}
