/**
 * Judges events that came from SQL by the catalogue, within a minute after their commit, and counts those that do not fit. Workspaces take
 * turns of at most 1,000 events. The position of each is stored with what was counted, so nothing is counted twice or left out; an
 * event is passed once no transaction is open that could still commit an older one. Source: spec §6.2.
 */
import type { SqlError } from "@effect/sql/SqlError"
import { Catalogue, issuesOf } from "@posthorn/catalogue/Catalogue"
import { pausing } from "@posthorn/catalogue/Pausing"
import { STEPS } from "@posthorn/catalogue/Schemas"
import {
  Horizon,
  type Unjudged,
  UnjudgedEvents,
  type Waiting
} from "@posthorn/persistence/engine/UnjudgedEvents"
import type { JudgedType } from "@posthorn/persistence/repositories/EventTypesRepo"
import { Context, Effect, Layer } from "effect"
import { judging as rhythm } from "../Schedules.ts"

/** Workspaces of one round; the next round goes on with others. */
const WORKSPACES = 1_000

/** If a payload of a type takes longer, the type is judged by samples, so that its payloads take this long on average. */
const COSTLY_MS = 3
/** How much the newest payload counts in the average. */
const WEIGHT = 0.2

/** Which payloads of a type are judged, by what they cost. */
class Samples {
  private averageMs = 0
  private passed = 0
  private saidSo = false

  /** One payload in this many is judged. */
  get every(): number {
    return Math.max(1, Math.ceil(this.averageMs / COSTLY_MS))
  }
  isNext(): boolean {
    return this.passed++ % this.every === 0
  }
  took(ms: number): boolean {
    this.averageMs += (ms - this.averageMs) * WEIGHT
    const isNews = !this.saidSo && this.every > 1
    this.saidSo ||= isNews
    return isNews
  }
}

export class Judging extends Context.Tag("@posthorn/worker/Judging")<
  Judging,
  {
    readonly run: (here: () => boolean) => Effect.Effect<unknown>
    /** Judges what can be judged now. */
    readonly round: Effect.Effect<void, SqlError>
  }
>() {}

const make = Effect.gen(function* () {
  const catalogue = yield* Catalogue
  const events = yield* UnjudgedEvents
  const horizons = new Horizon()
  const samples = new Map<string, Samples>()
  let from = ""

  const samplesOf = ({ eventType, version }: JudgedType) => {
    const key = `${version} ${eventType}`
    const known = samples.get(key) ?? new Samples()
    samples.set(key, known)
    return known
  }

  const fits = ({ eventType, payload }: Unjudged) =>
    Effect.gen(function* () {
      const type = catalogue.ruleOf(eventType)
      if (payload === null || type === undefined) return true
      const sampled = samplesOf(type)
      if (!sampled.isNext()) return true
      const judge = yield* catalogue.judgeOf(type)
      if (judge === null) return true
      const began = performance.now()
      const issues = issuesOf(judge, payload, { left: STEPS })
      if (sampled.took(performance.now() - began))
        yield* Effect.logWarning(
          `Payloads of ${eventType} take longer than ${COSTLY_MS} ms to judge: those from SQL are judged by samples`
        )
      return issues.length === 0
    })

  /** Returns the workspace with its new position; undefined if nothing is left, or another worker judges it. */
  const step = (waiting: Waiting, horizon: string, types: ReadonlyArray<JudgedType>) =>
    Effect.gen(function* () {
      const read = yield* events.next(waiting, horizon, types)
      const last = read.at(-1)
      if (last === undefined) return undefined
      const deviations = []
      const inTurns = pausing()
      for (const event of read) {
        if (!(yield* fits(event)))
          deviations.push({ workspaceId: waiting.workspaceId, eventType: event.eventType, eventId: event.id })
        yield* inTurns
      }
      return (yield* events.judged(waiting, last.id, deviations))
        ? { ...waiting, past: last.id, position: last.id }
        : undefined
    })

  const round = Effect.gen(function* () {
    yield* catalogue.renew
    const types = catalogue.all()
    if (types.length === 0) return
    for (const key of samples.keys())
      if (!types.some(({ eventType, version }) => key === `${version} ${eventType}`)) samples.delete(key)
    const horizon = horizons.at(yield* events.moment)
    if (horizon === undefined) return
    const [since = ""] = types.map((type) => type.since).sort()
    const found = yield* events.workspaces(from, since, horizon, WORKSPACES)
    from = found.length < WORKSPACES ? "" : found.at(-1)!.workspaceId
    const queue = [...found]
    for (let waiting = queue.shift(); waiting !== undefined; waiting = queue.shift()) {
      const next = yield* step(waiting, horizon, types)
      if (next !== undefined) queue.push(next)
    }
  })

  return {
    round,
    run: (here: () => boolean) =>
      Effect.suspend(() => (here() ? round : Effect.void)).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("Events from SQL could not be judged", cause)),
        Effect.withTracerEnabled(false),
        Effect.repeat(rhythm)
      )
  }
})

export const layer = Layer.effect(Judging, make)
