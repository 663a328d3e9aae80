/** Breaks each law once on purpose: a law that does not notice proves nothing. */
import { databaseMicros } from "@posthorn/persistence/engine/DatabaseMicros"
import type { DueRow } from "@posthorn/persistence/engine/Queue"
import type { Observed } from "@posthorn/persistence/engine/Records"
import { Circuit } from "../../src/dispatcher/Circuit.ts"
import { Dispatcher } from "../../src/dispatcher/Dispatcher.ts"
import { InDoubt } from "../../src/dispatcher/InDoubt.ts"
import { Intake } from "../../src/dispatcher/Intake.ts"
import type { Lane } from "../../src/dispatcher/Lane.ts"
import { Memory } from "../../src/dispatcher/Memory.ts"
import { SlidingWindow } from "../../src/dispatcher/SlidingWindow.ts"
import { SlotShares } from "../../src/dispatcher/SlotShares.ts"
import { LateCommits } from "../../src/polling/LateCommits.ts"
import { Poller } from "../../src/polling/Poller.ts"
import type { TuningValues } from "../../src/Tuning.ts"
import type { FaultPlan, Mood } from "./FaultPlan.ts"
import type { Model } from "./Model.ts"

export interface Mutant {
  readonly model?: (model: Model) => void
  /** Breaks the engine itself; gives the way to restore it. */
  readonly engine?: () => () => void
  readonly mood?: Mood
  readonly plan?: Partial<FaultPlan>
  readonly tuning?: Partial<TuningValues>
}

/** Replaces a method of the model by one derived from it. */
const changing =
  <K extends keyof Model>(name: K, change: (original: Model[K], model: Model) => Model[K]) =>
  (model: Model): void => {
    const original = model[name] as unknown as (...args: Array<unknown>) => unknown
    Object.assign(model, { [name]: change(original.bind(model) as unknown as Model[K], model) })
  }

const recording = (change: (observed: Observed, model: Model) => Observed) =>
  changing("record", (record, model) => (group) => record(group.map((one) => change(one, model))))

/** Makes a method do nothing; gives the way to restore it. */
const without = <C extends { prototype: object }>(of: C, method: keyof C["prototype"] & string) => {
  const original = Object.getOwnPropertyDescriptor(of.prototype, method)!
  Object.defineProperty(of.prototype, method, { ...original, value: () => undefined })
  return () => void Object.defineProperty(of.prototype, method, original)
}

export const mutants: Readonly<Record<string, Mutant>> = {
  "L1: a retry falls out of the queue": {
    model: changing("record", (record, model) => (group) => {
      const result = record(group)
      for (const { deliveryId, ordinal } of group) if (ordinal === 2) model.queue.delete(deliveryId)
      return result
    })
  },
  "L2: what is due is not shown": {
    model: (model) => {
      const shown = (rows: ReadonlyArray<DueRow>) => rows.filter(({ attempts }) => attempts !== 1)
      const shownOf = <A extends { readonly rows: ReadonlyArray<DueRow> }>(answer: A): A => ({
        ...answer,
        rows: shown(answer.rows)
      })
      changing(
        "due",
        (due) =>
          (...asked) =>
            shownOf(due(...asked)) as ReturnType<Model["due"]>
      )(model)
      changing(
        "firstOfEndpoints",
        (heads) =>
          (...asked) =>
            shownOf(heads(...asked))
      )(model)
      changing(
        "dueOfEndpoints",
        (dueOfEndpoints) =>
          (...asked) =>
            shown(dueOfEndpoints(...asked))
      )(model)
    }
  },
  "L3: an ordinal is skipped": {
    model: recording((observed, model) => {
      const delivery = model.deliveries.get(observed.deliveryId)
      if (delivery !== undefined && observed.ordinal === 2) delivery.attempts = 2
      return observed.ordinal === 2 ? { ...observed, ordinal: 3 } : observed
    })
  },
  "L4: a terminal delivery is opened again": {
    model: changing("record", (record, model) => (group) => {
      for (const { deliveryId } of group) {
        const delivery = model.deliveries.get(deliveryId)
        if (delivery !== undefined && delivery.status === "delivered") {
          delivery.status = "failed"
          delivery.attempts = group.find((one) => one.deliveryId === deliveryId)!.ordinal - 1
        }
      }
      return record(group)
    })
  },
  "L5: retries are due at once": {
    model: changing("record", (record, model) => (group) => {
      const result = record(group)
      for (const [id, row] of model.queue)
        if (row.attempts > 0) model.queue.set(id, { ...row, due: databaseMicros(0) })
      return result
    })
  },
  "L5: what an old policy says of an attempt is recorded": {
    model: recording((observed, model) => {
      const { version } = model.endpoints.get(observed.endpointId)!.policy
      return { ...observed, policyVersion: version }
    })
  },
  "L6: another status is written down than was seen": {
    model: recording((observed) =>
      observed.httpStatus === 200 ? { ...observed, httpStatus: 299 } : observed
    )
  },
  "L7: what is answered is forgotten before it is recorded": {
    mood: "calm",
    engine: () => {
      const original = Dispatcher.prototype.settle
      Dispatcher.prototype.settle = function (sent, seen, observed, pace) {
        original.call(this, sent, seen, observed, pace)
        // Its observation is still recorded.
        this.ids.remove(sent.row)
      }
      return () => {
        Dispatcher.prototype.settle = original
      }
    }
  },
  "L8: a success does not end the streak": {
    model: changing("record", (record, model) => (group) => {
      const before = new Map([...model.endpoints.values()].map(({ id, streak }) => [id, streak]))
      const result = record(group)
      for (const { endpointId, status } of group) {
        if (status === "delivered")
          model.endpoints.get(endpointId)!.streak = (before.get(endpointId) ?? 0) + 1
      }
      return result
    })
  },
  "L10: a dead letter is announced twice": {
    model: changing("deadLetter", (deadLetter, model) => (batch) => {
      const marked = deadLetter(batch)
      const last = model.notified.at(-1)
      if (marked.marked > 0 && last !== undefined) model.notified.push(last)
      return marked
    })
  },
  "L11: the old secret signs for ever": {
    model: changing("rotate", (rotate) => (endpoint, secret) => rotate(endpoint, secret, 1e9))
  },
  "L12: a disabled endpoint is loaded as enabled": {
    model: changing(
      "load",
      (load) => (rows) =>
        load(rows).map((loaded) => loaded && { ...loaded, endpoint: { ...loaded.endpoint, enabled: true } })
    )
  },
  "L11: what was loaded late is signed with what it had": { tuning: { lateMs: Number.POSITIVE_INFINITY } },
  "L12: what was loaded long ago is sent": {
    tuning: { lateMs: Number.POSITIVE_INFINITY, freshMs: Number.POSITIVE_INFINITY }
  },
  "L15: a delivery outlives its endpoint": {
    model: changing("delete", (remove, model) => (endpoint) => {
      const kept = [...model.deliveries.values()].find(({ endpointId }) => endpointId === endpoint.id)
      remove(endpoint)
      if (kept !== undefined) model.deliveries.set(kept.id, kept)
    })
  },
  "L17: a failing lane goes on without a pause": {
    engine: () => {
      const original = Circuit.prototype.open
      Circuit.prototype.open = () => null
      return () => {
        Circuit.prototype.open = original
      }
    }
  },
  "L17: what was picked before its circuit opened is sent": {
    engine: () => {
      const { maySend } = Circuit.prototype
      Circuit.prototype.maySend = () => true
      return () => {
        Circuit.prototype.maySend = maySend
      }
    }
  },
  "L16: claims are not counted": {
    model: changing(
      "countClaims",
      () => (claims) => new Map(claims.map(({ row }) => [row.deliveryId, "counted"]))
    )
  },
  "L16: a claim is counted again whenever it is loaded again": {
    model: changing("countClaims", (countClaims, model) => (claims, limit, sending) => {
      const raised = claims.map(({ row }) => ({
        row,
        count: Math.max(model.queue.get(row.deliveryId)?.claims ?? 0, 1) + 1
      }))
      return countClaims(raised, limit, sending)
    }),
    engine: () => without(InDoubt, "written")
  },
  "L18: a workspace takes every slot that is free": {
    mood: "hanging",
    engine: () => {
      const { mayPick } = SlotShares.prototype
      SlotShares.prototype.mayPick = function (lane, free) {
        Object.assign(this, { tenth: 0, quarter: 0 })
        return mayPick.call(this, lane, free)
      }
      return () => {
        SlotShares.prototype.mayPick = mayPick
      }
    }
  },
  "L18: a workspace fills all of memory": {
    mood: "hanging",
    tuning: { maxWaiting: 60 },
    engine: () => {
      const { equalShares, hasRoom, limit } = Memory.prototype
      Memory.prototype.hasRoom = function () {
        return this.room > 0
      }
      Memory.prototype.limit = () => 1_000
      Memory.prototype.equalShares = () => []
      return () => Object.assign(Memory.prototype, { equalShares, hasRoom, limit })
    }
  },
  "L18: a shard that is handed over starts nothing until its last request is over": {
    mood: "joining",
    engine: () => {
      const restore = [without(Dispatcher, "holdBack"), without(Dispatcher, "retake")]
      return () => {
        for (const each of restore) each()
      }
    }
  },
  "L18: all disabled endpoints are asked about before each poll": {
    mood: "disabled",
    tuning: { refillMost: 1_000 },
    engine: () => {
      const { forget, refill } = Intake.prototype
      const kept = new Map<string, Lane>()
      Intake.prototype.forget = function (lane) {
        forget.call(this, lane)
        kept.set(lane.endpointId, lane)
        this.usable(lane)
      }
      Intake.prototype.refill = function (refills, rows) {
        refill.call(this, refills, rows)
        for (const { endpointId } of refills) {
          const lane = kept.get(endpointId)
          if (lane !== undefined) this.usable(lane)
        }
      }
      return () => Object.assign(Intake.prototype, { forget, refill })
    }
  },
  "L19: a load from a slow database has 750 ms": { mood: "slow", plan: { measures: false } },
  "L19: who sleeps does not poll": { mood: "lost", tuning: { pollMs: Number.POSITIVE_INFINITY } },
  "L19: nobody sweeps": { mood: "lost", tuning: { sweepMs: Number.POSITIVE_INFINITY } },
  "L19: no look-back while deaf": { mood: "deaf", tuning: { lookBackMs: 0 } },
  "L19: no rereading when listening begins": {
    mood: "deaf",
    engine: () => {
      const { listening } = Poller.prototype
      Poller.prototype.listening = function (locks) {
        Object.assign(this, { locks })
      }
      return () => {
        Poller.prototype.listening = listening
      }
    }
  },
  "L19: nobody goes back for a transaction that was open and has ended": {
    mood: "deaf",
    engine: () => {
      const { seen } = LateCommits.prototype
      LateCommits.prototype.seen = (_open, moment) => ({
        back: moment,
        soon: moment,
        sweeps: false,
        transactionsChanged: false
      })
      return () => {
        LateCommits.prototype.seen = seen
      }
    }
  },
  "L20: launch without the fence": {
    // What was loaded may be sent for longer.
    tuning: { freshMs: 2_000, prefetchMs: 1_000 },
    engine: () => {
      const { start } = Dispatcher.prototype
      Dispatcher.prototype.start = function (now) {
        return start.call(this, now, true)
      }
      return () => {
        Dispatcher.prototype.start = start
      }
    }
  },
  "L21: what was begun before is not asked for": {
    model: changing("startsSince", () => (rated) => rated.map(() => ({ agesMs: [] })))
  },
  "L21: what a dead worker had begun and not recorded is not counted": {
    model: changing(
      "startsSince",
      (begun) => (rated) => begun(rated.map((one) => ({ ...one, mostUnrecorded: 0 })))
    )
  },
  "L21: a permit is free when its attempt begins": {
    engine: () => {
      const { start } = SlidingWindow.prototype
      SlidingWindow.prototype.start = function () {
        this.release()
      }
      return () => {
        SlidingWindow.prototype.start = start
      }
    }
  }
}
