/**
 * The engine's constants that the simulation varies, so that no guarantee depends on their values. Intervals of several parts
 * are in Schedules.ts.
 */
import { Context } from "effect"

export const tuned = {
  /** A loaded delivery may be sent for this long. */
  freshMs: 30,
  /**
   * A load's answer is dropped if it takes longer, unless all answers do (Loader.ts). With `freshMs`, a delivery is sent within a
   * second of its reading.
   */
  lateMs: 750,
  /** Prefetches for slots that become free within this time. */
  prefetchMs: 10,
  /** While the lease is uncertain; after a failed load; after a row was locked. */
  uncertainPauseMs: 200,
  loadPauseMs: 500,
  blockedPauseMs: 500,
  defectPauseMs: 1_000,

  /** An awake Poller pauses for the time since it last found rows, divided by this. */
  pollsPerFind: 3,
  /** The longest applies while an open publishing transaction keeps the worker awake. */
  pauseLeastMs: 4,
  openPollMs: 25,
  /** Finds closer together wake the worker. */
  wakeGapMs: 4,
  gapMostMs: 200,
  restMs: 100,
  /** Open transactions cause no rewind into a batch of more rows. */
  largeBatchFrom: 64,
  /** The longest time between polls while asleep. */
  pollMs: 5_000,
  /** The longest time between polls while no notifications are heard. */
  notListeningPollMs: 500,
  /** The pause after a failed poll. */
  readPauseMs: 500,
  /** Sweeps take at most 1/`sweepShare` of the time. */
  sweepMs: 30_000,
  sweepShare: 20,
  sweepStep: 500,
  /** While nothing listens. */
  lookBackMs: 5_000,
  readMost: 4_000,
  shardMost: 1_000,
  shardLeast: 32,
  /** Of a shard, for a read that leaves endpoints out. Scanning 64,000 rows in all takes 0.1 s. */
  scanLimit: 2_000,
  /** Reads leave out an endpoint once so many of its rows were dropped. */
  oversizedFrom: 200,
  refillMost: 64,

  batchMost: 500,
  /** A smaller batch waits `lingerMs` while more outcomes are expected: each call costs PostgreSQL 0.6 ms and Node 0.2 ms. */
  batchWanted: 200,
  lingerMs: 100,
  /** At this many observations, sending pauses. */
  mostUnrecorded: 1_000,

  /** Over all lanes. About 250 bytes each. */
  maxWaiting: 40_000
}

export type TuningValues = Readonly<typeof tuned>

export class Tuning extends Context.Reference<Tuning>()("@posthorn/worker/Tuning", {
  defaultValue: (): TuningValues => tuned
}) {}
