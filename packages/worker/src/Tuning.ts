/**
 * The engine's constants that the simulation varies, so that no guarantee depends on their values. Intervals of several parts
 * are in Schedules.ts.
 */
import { Context } from "effect"

export const tuned = {
  /** A loaded delivery may be sent for this long. */
  freshMs: 30,
  /** A later answer is dropped, unless all answers take long (Loader.ts). With `freshMs`: sent within a second of its reading. */
  lateMs: 750,
  /** Prefetches for slots that become free within this time. */
  prefetchMs: 10,
  /** While the lease is uncertain; after a failed load; after a row was locked. */
  uncertainPauseMs: 200,
  loadPauseMs: 500,
  blockedPauseMs: 500,
  defectPauseMs: 1_000,

  /** While the Poller is awake, its pause is the time without a find, divided by this. */
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
  /** While asleep; at most while nothing listens; after a failed poll. */
  pollMs: 5_000,
  notListeningPollMs: 500,
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
  /** After it has dropped this many rows of an endpoint, reads leave the endpoint out. */
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
