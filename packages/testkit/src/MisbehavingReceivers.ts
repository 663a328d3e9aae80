/**
 * Every way in which a receiver misbehaves that we know of, one path each, with what must be observed.
 *
 * Three rules are behind every outcome (spec §4.1 and §3.4): the status alone decides; the request deadline covers
 * everything up to the head, the body deadline the rest; what ends a body early makes it absent (null) and nothing
 * else. Misbehaviour before HTTP begins (certificates, a reset on accept, a stalled handshake) is a receiver's option,
 * not a path.
 */

import { answered } from "./internal/AnsweredCases.ts"
import { spelledOut } from "./internal/Behaviours.ts"
import { bodies } from "./internal/BodyCases.ts"
import type { Behaviour } from "./internal/RawAnswer.ts"
import type { ReceiverCase } from "./internal/ReceiverCases.ts"
import { unanswered } from "./internal/UnansweredCases.ts"

export type { Outcome, ReceiverCase } from "./internal/ReceiverCases.ts"

export const misbehaving: ReadonlyArray<ReceiverCase> = [...answered, ...bodies, ...unanswered]

const byPath = new Map(misbehaving.map(({ path, answer }) => [path, answer]))

/** How `path` behaves: as the tables say, or as it spells out (`/status/418`, `/redirect/307`, `/schedule/500-500-200`). */
export const behaviourOf = (path: string): Behaviour => byPath.get(path) ?? spelledOut(path)
