/**
 * The engine's constants that the simulation varies, so that no guarantee rests on one of them by chance. They are no settings:
 * an operator need not know them. Fixed intervals stand in Schedules.ts, limits of one part in its own file.
 */
import { Context } from "effect"

export const tuned = {
  /** What was loaded is fresh enough to be sent for so long after the answer. */
  freshMs: 30,
  /** A load whose answer takes longer is dropped: with `freshMs`, what is sent was read less than a second before. */
  lateMs: 750,
  /** The look-ahead covers the slots that become free within this time. */
  aheadMs: 10,
  /** Before the Loader looks again: while ownership is in doubt; after a load that failed; when a row was held. */
  uncertainPauseMs: 200,
  loadPauseMs: 500,
  heldPauseMs: 500,
  /** Before a claim that ended in a defect is counted, and between tries. */
  defectPauseMs: 1_000,

  /** Polls for each find, about, while awake. */
  pollsPerFind: 3,
  /** The shortest pause between polls, and the longest while a transaction that has published keeps the worker awake. */
  pauseLeastMs: 2,
  openPollMs: 25,
  /** A worker that finds something more often than this is awake. */
  wakeGapMs: 4,
  /** A longer time between finds counts as this one. */
  gapMostMs: 200,
  /** How long it is quiet before a worker sleeps. */
  restMs: 100,
  /** Do not go back into a batch of more rows than this for a transaction that is still open. */
  crowdFrom: 64,
  /** Between polls while asleep, the longest while notifications are not heard, and after one that failed. */
  pollMs: 1_000,
  deafPollMs: 500,
  readPauseMs: 500,
  /** Between sweeps, which take at most one part in `sweepShare` of the time. */
  sweepMs: 30_000,
  sweepShare: 20,
  /** Endpoints that one step of a sweep looks at. */
  sweepStep: 500,
  /** How far back a poll looks while no notification can be heard. */
  lookBackMs: 5_000,
  parkedCheckMs: 1_000,
  /** Rows that one read brings at most: what a larger answer would cost in memory is not worth the fewer reads. */
  readMost: 4_000,
  shardMost: 1_000,
  shardLeast: 32,
  /** Rows of a shard that one read looks at, when it leaves endpoints out: 64,000 in all take 0.1 s. */
  lookMost: 2_000,
  /** Rows of an endpoint that are read and find no room, until reads leave it out. */
  noisyFrom: 200,
  refillMost: 64,

  groupMost: 500,
  /**
   * While more is coming, a group of less waits a moment for it: each call costs PostgreSQL 0.6 ms and Node 0.2 whatever is
   * in it. At 100 events a second three share a call. Nobody waits for it but what is in flight to failing endpoints.
   */
  groupWanted: 200,
  lingerMs: 30,
  /** How far sending may run ahead of writing. */
  mostUnrecorded: 1_000,

  /** Rows in memory that wait, over all lanes. About 250 bytes each. */
  maxWaiting: 40_000
}

export type TuningValues = Readonly<typeof tuned>

export class Tuning extends Context.Reference<Tuning>()("@posthorn/worker/Tuning", {
  defaultValue: (): TuningValues => tuned
}) {}
