/**
 * The engine's constants that the simulation varies, so that no guarantee depends on one of their values by chance. They are
 * not settings: an operator need not know them. Fixed intervals of several parts are in Schedules.ts; constants of a single part
 * are in its own file.
 */
import { Context } from "effect"

export const tuned = {
  /** A loaded delivery may be sent for this long after the load's answer. */
  freshMs: 30,
  /** A load whose answer takes longer is dropped. Together with `freshMs`: a delivery is sent within a second of its reading. */
  lateMs: 750,
  /** As many deliveries are prefetched as slots become free within this time. */
  prefetchMs: 10,
  /** Pauses before the Loader tries again: while the lease is uncertain, after a failed load, and after a row was locked. */
  uncertainPauseMs: 200,
  loadPauseMs: 500,
  blockedPauseMs: 500,
  /** Pause before counting a claim that ended in a defect, and between tries. */
  defectPauseMs: 1_000,

  /** Awake, a pause is the time without a find, divided by this. */
  pollsPerFind: 3,
  /** The shortest pause between polls, and the longest while an open transaction that has published keeps the worker awake. */
  pauseLeastMs: 4,
  openPollMs: 25,
  /** A worker that is asleep wakes when it finds something more often than this. */
  wakeGapMs: 4,
  /** A longer time between finds counts as this one. */
  gapMostMs: 200,
  /** A worker falls asleep after this long without finding anything. */
  restMs: 100,
  /** Do not go back into a batch of more rows than this for a transaction that is still open. */
  largeBatchFrom: 64,
  /** Pauses between polls: while asleep, the longest while notifications are not heard, and after a failed poll. */
  pollMs: 5_000,
  notListeningPollMs: 500,
  readPauseMs: 500,
  /** Pause between sweeps. Sweeps take at most 1/`sweepShare` of the time. */
  sweepMs: 30_000,
  sweepShare: 20,
  /** Endpoints per step of a sweep. */
  sweepStep: 500,
  /** How far back a poll looks while no notification can be heard. */
  lookBackMs: 5_000,
  /** Polls check suspended endpoints at most this often. */
  suspendedCheckMs: 1_000,
  /** Most rows of one read. Larger answers would cost more memory than the saved reads are worth. */
  readMost: 4_000,
  shardMost: 1_000,
  shardLeast: 32,
  /** Rows of a shard that one read scans when it leaves endpoints out. 64,000 in all take 0.1 s. */
  scanLimit: 2_000,
  /** After this many rows of an endpoint were read and found no room, reads leave it out. */
  oversizedFrom: 200,
  refillMost: 64,

  batchMost: 500,
  /**
   * While more outcomes are expected, a smaller batch waits `lingerMs` for them: each call costs PostgreSQL 0.6 ms and Node 0.2
   * ms, whatever is in it. At 20 events a second three share a call. Only requests to failing endpoints wait for it.
   */
  batchWanted: 200,
  lingerMs: 100,
  /** Most attempts that may be unrecorded before sending pauses. */
  mostUnrecorded: 1_000,

  /** Most waiting rows in memory, over all lanes. About 250 bytes each. */
  maxWaiting: 40_000
}

export type TuningValues = Readonly<typeof tuned>

export class Tuning extends Context.Reference<Tuning>()("@posthorn/worker/Tuning", {
  defaultValue: (): TuningValues => tuned
}) {}
