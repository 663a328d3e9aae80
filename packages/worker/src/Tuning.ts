/**
 * The engine's constants, each with its reason, in one place: the simulation plays worlds with others, so that no guarantee
 * rests on one of them by chance. They are no settings: whoever runs Posthorn has no need to know them.
 */
import { Context } from "effect"

export interface TuningValues {
  /** For so long what was read of an endpoint counts as read at dispatch. */
  readonly freshMs: number
  /** What receivers will have answered by then is loaded ahead. */
  readonly aheadMs: number
  /** Before the slots look again: while ownership is in doubt; after a load that failed; when a row was held. */
  readonly uncertainPauseMs: number
  readonly loadPauseMs: number
  readonly heldPauseMs: number
  /** Before a take-up that ended in a defect is counted, and between tries. */
  readonly defectPauseMs: number

  /** Between reads while notifications are heard, and while they are not. */
  readonly pollMs: number
  readonly deafPollMs: number
  readonly readPauseMs: number
  /** Between sweeps, which take at most one part in `sweepShare` of the time. */
  readonly sweepMs: number
  readonly sweepShare: number
  /** Endpoints that one step of a sweep looks at. */
  readonly sweepStep: number
  /** How far back a poll looks while no notification can be heard. */
  readonly lookBackMs: number
  readonly parkedCheckMs: number
  /** Rows that one read brings at most: what a larger answer would cost in memory is not worth the fewer reads. */
  readonly readMost: number
  readonly shardMost: number
  readonly shardLeast: number
  readonly refillMost: number

  readonly groupMost: number
  /**
   * While more is coming, a group of less waits a moment for it: each call costs PostgreSQL 0.6 ms and Node 0.2 whatever is
   * in it, so groups of 200 instead of 40 save 15 us for each delivery. Nobody waits for it but what is in flight to
   * failing endpoints.
   */
  readonly groupWanted: number
  readonly lingerMs: number
  /** How far sending may run ahead of writing. */
  readonly mostUnrecorded: number

  /** Rows in memory that wait, over all lanes. About 200 bytes each. */
  readonly maxWaiting: number
}

export const tuned: TuningValues = {
  freshMs: 30,
  aheadMs: 10,
  uncertainPauseMs: 200,
  loadPauseMs: 500,
  heldPauseMs: 500,
  defectPauseMs: 1_000,
  pollMs: 1_000,
  deafPollMs: 500,
  readPauseMs: 500,
  sweepMs: 30_000,
  sweepShare: 20,
  sweepStep: 500,
  lookBackMs: 5_000,
  parkedCheckMs: 1_000,
  readMost: 4_000,
  shardMost: 1_000,
  shardLeast: 32,
  refillMost: 64,
  groupMost: 500,
  groupWanted: 200,
  lingerMs: 8,
  mostUnrecorded: 1_000,
  maxWaiting: 40_000
}

export class Tuning extends Context.Reference<Tuning>()("@posthorn/worker/Tuning", {
  defaultValue: () => tuned
}) {}
